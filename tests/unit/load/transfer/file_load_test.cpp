// SPDX-License-Identifier: MIT
#include "load/transfer/file_load.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "buffer_bytes.hpp"
#include "cases.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"
#include "system/numa.hpp"
#include "unit/load/device_loader.hpp"
#include "unit/load/evict.hpp"
#include "unit/load/watched_device.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::load;
using namespace std::chrono_literals;

namespace {

// Calls a function on a reader's thread, after the first chunk or after each.
class Hook final : public LoadObserver {
 public:
  explicit Hook(std::function<void()> function, bool is_once = true)
      : function_(std::move(function)), is_once_(is_once) {}
  void on_progress(std::uint64_t, std::uint64_t) noexcept override {
    if (!called_.exchange(true) || !is_once_) function_();
  }

 private:
  std::function<void()> function_;
  bool is_once_;
  std::atomic<bool> called_{false};
};

struct FileLoadFixture : test::WatchedDevice {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  std::filesystem::path path = make_model(folder.path() / "m.safetensors");
  ModelFile model = ModelFile::open(path);
  ArenaLayout layout = lay_out(model);

  // An hour old, so that every later write shows, however coarse the file system's clock is.
  std::filesystem::path make_model(const std::filesystem::path& at) const {
    test::write_small_model(at, tensors);
    std::filesystem::last_write_time(at, std::filesystem::file_time_type::clock::now() - 1h);
    return at;
  }

  TransferOptions options(ReadMode mode, std::uint64_t slot_bytes = 32u << 10) const {
    TransferOptions options;
    options.slot_bytes = slot_bytes;
    options.readers = 3;
    options.always_stage = true;
    options.read.mode = mode;
    options.read.direct_request_bytes = 64u << 10;
    return options;
  }

  std::string failure_of(const TransferOptions& options) const {
    test::DeviceLoader loader(device, options);
    const Buffer arena(device, layout.arena_bytes);
    try {
      loader.load(model, layout, arena);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::input_failed);
      return error.what();
    }
    return "no failure";
  }
};

void in_another_process(const std::function<void()>& function) {
  const pid_t child = fork();
  if (child == 0) {
    function();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

}  // namespace

TEST_CASE_FIXTURE(FileLoadFixture,
                  "every way of reading and every shape of the ring brings every byte") {
  const auto expected = test::expected_arena(tensors);
  for (const ReadMode mode : {ReadMode::automatic, ReadMode::buffered, ReadMode::direct}) {
    for (const int shape : {0, 1, 2, 3, 4}) {
      CAPTURE(shape);
      test::evict(path);
      auto chosen = options(mode, shape == 2 || shape == 4 ? 1u << 20 : 40'000);
      chosen.ramp = shape != 1;
      if (shape > 2) chosen.parts = 16;
      test::DeviceLoader loader(device, chosen);
      if (shape != 0) loader.prepare(model, layout);
      const Buffer arena(device, layout.arena_bytes);
      const LoadStatistics statistics = loader.load(model, layout, arena);
      REQUIRE(test::bytes_of(arena) == expected);
      CHECK(statistics.buffered_bytes + statistics.direct_bytes == layout.tensor_bytes);
      CHECK(statistics.read_bytes == layout.tensor_bytes);
      if (mode == ReadMode::buffered) CHECK(statistics.direct_bytes == 0);
    }
  }
}

TEST_CASE_FIXTURE(FileLoadFixture, "the read probe reads like a load and copies nothing") {
  for (const bool stages : {true, false}) {
    CAPTURE(stages);
    auto chosen = options(ReadMode::buffered);
    chosen.always_stage = stages;
    chosen.parts = stages ? 4 : 1;
    CancelToken cancel;
    chosen.cancel = &cancel;
    test::DeviceLoader loader(device, chosen);
    const Buffer arena(device, layout.arena_bytes);
    const auto copies = table.count("hipMemcpyAsync");
    CHECK(loader.probe_read_bytes_per_s(model, layout, arena, layout.arena_bytes) > 0);
    CHECK(table.count("hipMemcpyAsync") == copies);
    if (!stages && device.is_host_memory()) {
      // In place it brings what a load brings, so a probe after a load changes nothing.
      CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
    }
    loader.load(model, layout, arena);  // all slots are back
    CHECK_THROWS_AS(loader.probe_read_bytes_per_s(model, layout, Buffer(device, 256), 1), Error);
    cancel.cancel();
    CHECK_THROWS_AS(loader.probe_read_bytes_per_s(model, layout, arena, 1), Error);
  }
}

TEST_CASE_FIXTURE(FileLoadFixture, "all ways of reading are tried with several regions") {
  tensors = {{"t", test::random_bytes(6'000'000, 1)}};
  make_model(path);
  model = ModelFile::open(path);
  layout = lay_out(model);
  const Stream stream(device);
  StagingRing::Options ring_options;
  ring_options.owners = 3;
  ring_options.slot_bytes = 256u << 10;
  StagingRing ring(device, {stream}, ring_options);
  for (const std::uint32_t regions : {1u, 4u}) {
    bool is_decided = false;
    // A reader that waits for a processor keeps its window open while the others read on.
    for (int loads = 0; !is_decided && loads < 20; ++loads) {
      if (!test::evict(path) || !load::DirectFile::open(base::File::open(path), false).is_open())
        return test::skip_case(test::no_cold_file);
      load::KnownReadRates known;
      load::FileSet files(model, options(ReadMode::automatic).read, 1, 45'000, known);
      load::FileLoad::Options chosen;
      chosen.readers = 3;
      chosen.check = [] {};
      chosen.regions = regions;
      const Buffer arena(device, layout.arena_bytes);
      WorkerThreads threads;
      load::FileLoad(model, layout, arena, files, ring, threads, chosen).run();
      CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
      LoadStatistics statistics;
      files.report(statistics);
      CHECK(statistics.direct_bytes >= 90'000);
      CHECK(statistics.read_bytes == layout.tensor_bytes);
      REQUIRE(files.trial() != nullptr);
      is_decided = files.trial()->decision().has_value();
      if (is_decided) CHECK(statistics.buffered_bytes >= 90'000);
    }
    CHECK(is_decided);
  }
}

TEST_CASE_FIXTURE(FileLoadFixture,
                  "a file that changes during the load is named, with what happened") {
  const auto size_bytes = std::filesystem::file_size(path);
  const auto other = folder.path() / "other";
  struct Change {
    const char* word;
    std::function<void()> make;
  };
  const std::vector<Change> changes{
      {"truncated from", [&] { CHECK(truncate(path.c_str(), off_t(size_bytes - 1)) == 0); }},
      {"grew from", [&] { std::ofstream(path, std::ios::app) << "more"; }},
      {"written to",
       [&] {
         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(1'000) << 'x';
       }},
      {"replaced by another", [&] { std::filesystem::rename(other, path); }},
  };
  for (const ReadMode mode : {ReadMode::buffered, ReadMode::direct}) {
    for (const Change& change : changes) {
      make_model(path);
      make_model(other);
      model = ModelFile::open(path);
      if (mode == ReadMode::direct) test::evict(path);
      Hook hook(change.make);
      auto chosen = options(mode);
      chosen.observer = &hook;
      const std::string message = failure_of(chosen);
      CAPTURE(message);
      CHECK(message.find("m.safetensors") != std::string::npos);
      // A reader may meet the new end before the last look at the file does.
      const bool is_early_end = change.make != nullptr && message.find("ends at offset") < 1'000;
      const bool is_named = message.find(change.word) != std::string::npos;
      CHECK((is_named || (is_early_end && std::string(change.word) == "truncated from")));
    }
  }
}

TEST_CASE_FIXTURE(FileLoadFixture,
                  "a file that another process truncates ends the load where it ends") {
  for (const ReadMode mode : {ReadMode::buffered, ReadMode::direct}) {
    for (const std::uint32_t regions : {1u, 4u}) {
      make_model(path);
      model = ModelFile::open(path);
      if (mode == ReadMode::direct) test::evict(path);
      const char* name = path.c_str();
      Hook hook(
          [&] { in_another_process([name] { static_cast<void>(truncate(name, 500'003)); }); });
      auto chosen = options(mode);
      chosen.readers = 1;  // which is the one that waits for the other process
      chosen.regions = regions;
      chosen.observer = &hook;
      const std::string message = failure_of(chosen);
      CAPTURE(message);
      CHECK(message.find("m.safetensors ends at offset 500003, ") != std::string::npos);
    }
  }
}

TEST_CASE_FIXTURE(FileLoadFixture,
                  "a file that is removed during the load or that grew before it is refused") {
  Hook hook([&] { std::filesystem::remove(path); });
  auto chosen = options(ReadMode::buffered);
  chosen.observer = &hook;
  CHECK(failure_of(chosen).find("it was removed or renamed") != std::string::npos);
  make_model(path);
  model = ModelFile::open(path);
  std::ofstream(path, std::ios::app) << "x";
  CHECK(failure_of(options(ReadMode::buffered)).find("grew from") != std::string::npos);
}

TEST_CASE_FIXTURE(FileLoadFixture,
                  "cancelling ends everything soon, whatever the runtime is busy with") {
  const auto live_before = table.live();
  for (const std::string slow_call : {"hipMemcpyAsync", "hipEventSynchronize", "hipEventRecord",
                                      "hipHostRegister", "hipGetDevice"}) {
    for (const std::uint32_t parts : {1u, 4u}) {
      CAPTURE(slow_call);
      CAPTURE(parts);
      CancelToken cancel;
      std::uint64_t calls_before = 0;
      const auto give_up = [&] {
        calls_before = table.count(slow_call);
        cancel.cancel();
      };
      Hook hook(give_up);
      auto chosen = options(ReadMode::buffered, 8'192);
      chosen.cancel = &cancel;
      chosen.parts = parts;
      chosen.observer = &hook;
      ErrorCode code = ErrorCode::internal;
      {
        const Stream streams[]{Stream(device), Stream(device)};
        chosen.external_streams = {streams[0], streams[1]};
        test::DeviceLoader loader(device, chosen);
        const Buffer arena(device, layout.arena_bytes);
        try {
          loader.load(model, layout, arena);
        } catch (const Error& error) {
          code = error.code();
        }
        CHECK(table.count(slow_call) - calls_before < 50);
        CHECK_THROWS_AS(loader.prepare(model, layout), Error);
        for (const Stream& stream : streams) CHECK(stream.is_done());
      }
      CHECK(code == ErrorCode::cancelled);
      CHECK(table.live().registrations == live_before.registrations);
      CHECK(table.live().events == live_before.events);
      CHECK(table.live().streams == live_before.streams);
      CHECK(table.live().device_memory == live_before.device_memory);
    }
  }
}

TEST_CASE_FIXTURE(FileLoadFixture,
                  "a reader that fails ends readers that wait for its slot or for another one") {
  for (const std::string call : {"hipMemcpyAsync", "hipEventRecord", "hipEventSynchronize"}) {
    for (const std::uint64_t failing : {1u, 3u, 7u}) {
      CAPTURE(call);
      CAPTURE(failing);
      auto chosen = options(ReadMode::buffered);
      chosen.readers = 6;
      chosen.slots = 2;
      chosen.parts = 4;
      test::DeviceLoader loader(device, chosen);
      loader.prepare(model, layout);
      const Buffer arena(device, layout.arena_bytes);
      table.fail(call, hip::hipErrorUnknown, failing);
      CHECK_THROWS_AS(loader.load(model, layout, arena), Error);
      table.reset();
      loader.load(model, layout, arena);  // all slots are back
      CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
    }
  }
}

TEST_CASE_FIXTURE(FileLoadFixture, "readers run on the given CPUs") {
  const std::vector<int> allowed = system::allowed_cpus();
  std::mutex mutex;
  std::vector<std::vector<int>> seen;
  Hook hook(
      [&] {
        const std::lock_guard lock(mutex);
        seen.push_back(system::allowed_cpus());
      },
      false);
  auto chosen = options(ReadMode::buffered);
  chosen.observer = &hook;
  chosen.reader_cpus = {allowed.back()};
  CHECK(failure_of(chosen) == "no failure");
  REQUIRE_FALSE(seen.empty());
  for (const auto& cpus : seen) CHECK(cpus == std::vector<int>{allowed.back()});
  CHECK(system::allowed_cpus() == allowed);
}
