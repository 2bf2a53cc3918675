// SPDX-License-Identifier: MIT
#include "load/transfer/transfer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "buffer_bytes.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "load/verify/verification.hpp"
#include "small_model.hpp"
#include "support.hpp"
#include "unit/load/device_loader.hpp"
#include "unit/load/evict.hpp"
#include "unit/load/highest_progress.hpp"

using namespace hiptool;
using namespace hiptool::load;
using hiptool::test::code_of;

namespace {

constexpr const char* no_probe = "the probe puts nothing into memory that is not the host's";

struct OneDeviceFixture : test::ModelFixture {
  Buffer dirty_arena() const {
    Buffer arena(device, layout.arena_bytes);
    const Stream stream(device);
    fill(arena, std::byte{0xEE}, stream);
    stream.synchronize();
    return arena;
  }
  TransferOptions staged(std::uint64_t slot_bytes) const {
    TransferOptions options;
    options.slot_bytes = slot_bytes;
    options.readers = 4;
    options.always_stage = true;
    return options;
  }
};

class Progress final : public test::HighestProgress {
 public:
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override {
    HighestProgress::on_progress(done_bytes, total_bytes);
    const int call = ++calls_;
    if (call == 1 && on_first) on_first();
    if (call == 8 && on_eighth) on_eighth();
  }
  std::function<void()> on_first;
  std::function<void()> on_eighth;

 private:
  std::atomic<int> calls_{0};
};

/// A model of 32 chunks of two blocks each, read by one thread.
struct ManyChunks : OneDeviceFixture {
  static constexpr std::uint64_t chunk_bytes = 2 * block_bytes;

  ManyChunks() {
    tensors = {{"t", test::random_bytes(32 * chunk_bytes, 1)}};
    test::write_small_model(path, tensors);
    model = ModelFile::open(path);
    layout = lay_out(model);
  }
  TransferOptions from_places(std::uint32_t regions, bool stage) const {
    auto options = staged(chunk_bytes);
    options.readers = 1;
    options.always_stage = stage;
    options.regions = regions;
    return options;
  }
  /// Those that arrived; of the others not a byte did.
  std::vector<std::size_t> arrived(const Buffer& arena) const {
    const auto found = test::bytes_of(arena);
    std::vector<std::size_t> chunks;
    for (std::size_t i = 0; i < 32; ++i) {
      const auto of = [&](const std::vector<std::byte>& bytes) {
        return std::span(bytes).subspan(i * chunk_bytes, chunk_bytes);
      };
      const auto chunk = of(found);
      if (std::all_of(chunk.begin(), chunk.end(), [](std::byte b) { return b == std::byte{0xEE}; }))
        continue;
      CHECK(std::equal(chunk.begin(), chunk.end(), of(tensors[0].bytes).begin()));
      chunks.push_back(i);
    }
    return chunks;
  }
};

using Places = std::vector<std::size_t>;

struct Turns {
  std::uint32_t regions;
  Places expected;
};

}  // namespace

TEST_CASE_FIXTURE(OneDeviceFixture, "every byte arrives, gaps are zero, whatever the slots are") {
  const auto expected = test::expected_arena(tensors);
  for (const std::uint64_t slot_bytes : {1'000u, 4'096u, 65'536u, 8'388'608u}) {
    CAPTURE(slot_bytes);
    for (const std::uint32_t streams : {1u, 2u, 3u}) {
      auto options = staged(slot_bytes);
      options.streams = streams;
      test::DeviceLoader loader(device, options);
      const Buffer arena = dirty_arena();
      const LoadStatistics statistics = loader.load(model, layout, arena);
      CHECK(test::bytes_of(arena) == expected);
      CHECK(statistics.read_bytes == layout.tensor_bytes);
      CHECK(statistics.load_time_s > 0);
      CHECK(statistics.copy_time_s > 0);
    }
  }
}

TEST_CASE_FIXTURE(OneDeviceFixture, "readers write device memory in place where the host can") {
  TransferOptions options;
  options.slot_bytes = 5'000;
  Progress progress;
  options.observer = &progress;
  test::DeviceLoader loader(device, options);
  const Buffer arena = dirty_arena();
  loader.load(model, layout, arena);
  CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
  CHECK(progress.highest() == layout.tensor_bytes);
  CHECK(progress.total() == layout.tensor_bytes);
}

TEST_CASE_FIXTURE(OneDeviceFixture, "a loader can be reused, also for a model of no bytes") {
  test::DeviceLoader loader(device, staged(4'096));
  for (int round = 0; round < 3; ++round) {
    const Buffer arena = dirty_arena();
    loader.load(model, layout, arena);
    CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
  }
  const ModelFile empty =
      ModelFile::open(test::write_small_model(folder.path() / "e.safetensors", {{"nothing", {}}}));
  const LoadStatistics statistics = loader.load(empty, lay_out(empty), Buffer(device, 0));
  CHECK(statistics.read_bytes == 0);
}

TEST_CASE_FIXTURE(OneDeviceFixture, "a set of two files arrives as one model") {
  const std::size_t half = tensors.size() / 2;
  const std::vector<test::SmallTensor> first(tensors.begin(),
                                             tensors.begin() + static_cast<std::ptrdiff_t>(half));
  const std::vector<test::SmallTensor> second(tensors.begin() + static_cast<std::ptrdiff_t>(half),
                                              tensors.end());
  const auto file_name = [](int number) {
    return "s-0000" + std::to_string(number) + "-of-00002.safetensors";
  };
  test::write_small_model(folder.path() / file_name(1), first);
  test::write_small_model(folder.path() / file_name(2), second);
  std::string map;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    map += (i == 0 ? "\"" : ",\"") + tensors[i].name + "\":\"" + file_name(i < half ? 1 : 2) + "\"";
  }
  std::ofstream(folder.path() / "s.safetensors.index.json") << "{\"weight_map\":{" << map << "}}";
  const ModelFile set = ModelFile::open(folder.path() / file_name(2));
  REQUIRE(set.files().size() == 2);
  REQUIRE(set.tensor_bytes() == layout.tensor_bytes);
  const ArenaLayout set_layout = lay_out(set);
  test::DeviceLoader loader(device, staged(4'096));
  const Buffer arena = dirty_arena();
  loader.load(set, set_layout, arena);
  CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
  CHECK(verify_readback(set, set_layout, arena).mismatch_count == 0);
}

TEST_CASE_FIXTURE(OneDeviceFixture, "a file that changed or shrank since parsing is refused") {
  test::DeviceLoader loader(device, staged(4'096));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
  const Buffer arena = dirty_arena();
  CHECK(code_of([&] { loader.load(model, layout, arena); }) == ErrorCode::input_failed);
  std::filesystem::remove(path);
  CHECK(code_of([&] { loader.load(model, layout, arena); }) == ErrorCode::input_failed);
}

TEST_CASE_FIXTURE(OneDeviceFixture,
                  "a file that shrinks during the load ends it, and the loader stays usable") {
  Progress progress;
  progress.on_first = [&] { std::filesystem::resize_file(path, 60'000); };
  auto options = staged(4'096);
  options.observer = &progress;
  test::DeviceLoader loader(device, options);
  const Buffer arena = dirty_arena();
  CHECK(code_of([&] { loader.load(model, layout, arena); }) == ErrorCode::input_failed);
  test::write_small_model(path, tensors);
  const ModelFile again = ModelFile::open(path);
  loader.load(again, layout, arena);
  CHECK(test::bytes_of(arena) == test::expected_arena(tensors));
}

TEST_CASE_FIXTURE(OneDeviceFixture, "cancelling from outside ends the load") {
  CancelToken cancel;
  Progress progress;
  progress.on_first = [&] { cancel.cancel(); };
  for (const bool stage : {true, false}) {
    auto options = staged(1'000);
    options.always_stage = stage;
    options.cancel = &cancel;
    options.observer = &progress;
    test::DeviceLoader loader(device, options);
    const Buffer arena = dirty_arena();
    CHECK(code_of([&] { loader.load(model, layout, arena); }) == ErrorCode::cancelled);
    CHECK(progress.highest() < layout.tensor_bytes);
  }
}

TEST_CASE_FIXTURE(ManyChunks, "several regions are read alternately until a cancel") {
  for (const bool stage : {true, false}) {
    CAPTURE(stage);
    for (const Turns& one :
         {Turns{0, {0, 1, 2, 3, 4, 5, 6, 7}}, Turns{1, {0, 1, 2, 3, 4, 5, 6, 7}},
          Turns{4, {0, 1, 8, 9, 16, 17, 24, 25}}, Turns{8, {0, 4, 8, 12, 16, 20, 24, 28}}}) {
      CAPTURE(one.regions);
      CancelToken cancel;
      Progress progress;
      progress.on_eighth = [&] { cancel.cancel(); };
      auto options = from_places(one.regions, stage);
      options.cancel = &cancel;
      options.observer = &progress;
      test::DeviceLoader loader(device, options);
      const Buffer arena = dirty_arena();
      CHECK(code_of([&] { loader.load(model, layout, arena); }) == ErrorCode::cancelled);
      CHECK(arrived(arena) == one.expected);
      CHECK(progress.highest() == 8 * chunk_bytes);
    }
  }
}

TEST_CASE_FIXTURE(ManyChunks, "by default a load reads an uncached file in four regions") {
  for (const ReadMode mode : {ReadMode::automatic, ReadMode::buffered, ReadMode::direct}) {
    if (!test::evict(path)) return test::skip_case(test::no_cold_file);
    CAPTURE(static_cast<int>(mode));
    CancelToken cancel;
    Progress progress;
    progress.on_eighth = [&] { cancel.cancel(); };
    auto options = from_places(0, true);
    options.read.mode = mode;
    options.cancel = &cancel;
    options.observer = &progress;
    test::DeviceLoader loader(device, options);
    const Buffer arena = dirty_arena();
    CHECK(code_of([&] { loader.load(model, layout, arena); }) == ErrorCode::cancelled);
    CHECK(arrived(arena) == (mode == ReadMode::direct ? Places{0, 1, 2, 3, 4, 5, 6, 7}
                                                      : Places{0, 1, 8, 9, 16, 17, 24, 25}));
  }
}

TEST_CASE_FIXTURE(ManyChunks, "the read probe reads the bytes that a load reads first") {
  if (!device.is_host_memory()) return test::skip_case(no_probe);
  for (const Turns& one : {Turns{1, {0, 1, 2, 3, 4}}, Turns{4, {0, 1, 8, 16, 24}}}) {
    CAPTURE(one.regions);
    test::DeviceLoader loader(device, from_places(one.regions, false));
    const Buffer arena = dirty_arena();
    CHECK(loader.probe_read_bytes_per_s(model, layout, arena, 4 * chunk_bytes + 1) > 0);
    CHECK(arrived(arena) == one.expected);
    CHECK(loader.probe_read_bytes_per_s(model, layout, arena, 1u << 30) > 0);
    CHECK(test::bytes_of(arena) == tensors[0].bytes);
  }
}

TEST_CASE_FIXTURE(ManyChunks, "the read probe uses the choice of the load before it") {
  if (!device.is_host_memory()) return test::skip_case(no_probe);
  if (!test::evict(path)) return test::skip_case(test::no_cold_file);
  test::DeviceLoader loader(device, from_places(0, false));
  loader.load(model, layout, dirty_arena());
  const Buffer arena = dirty_arena();
  CHECK(loader.probe_read_bytes_per_s(model, layout, arena, 4 * chunk_bytes + 1) > 0);
  CHECK(arrived(arena) == Places{0, 1, 8, 16, 24});
}

TEST_CASE_FIXTURE(OneDeviceFixture, "a model read in several regions is complete and verified") {
  const LoadPlan plan = test::plan_of_one(device, layout);
  const auto expected = test::expected_arena(tensors);
  for (const ReadMode mode : {ReadMode::automatic, ReadMode::buffered, ReadMode::direct}) {
    for (const std::uint32_t regions : {2u, 7u, 1'000u}) {
      for (const bool stage : {true, false}) {
        for (const bool reads_twice : {false, true}) {
          // Any two of the three choices, but not all of them.
          if (test::is_sanitized && (stage != reads_twice) != (regions == 7)) continue;
          CAPTURE(regions);
          CAPTURE(stage);
          test::evict(path);
          auto options = staged(40'000);
          options.always_stage = stage;
          options.regions = regions;
          options.read.mode = mode;
          Progress progress;
          options.observer = &progress;
          test::DeviceLoader loader(device, options);
          const Buffer arena = dirty_arena();
          Verification verification(model, plan, std::span(&arena, 1),
                                    reads_twice ? std::make_shared<FileDigests>(model) : nullptr);
          CHECK(loader.load(model, layout, arena, &verification).read_bytes == layout.tensor_bytes);
          CHECK(verification.finish().mismatch_count == 0);
          CHECK(test::bytes_of(arena) == expected);
          CHECK(progress.highest() == layout.tensor_bytes);
          const std::byte wrong[1]{expected[600'000] ^ std::byte{1}};
          copy_h2d_and_wait(arena.view(600'000, 1), wrong);
          CHECK(verification.finish().mismatch_count == 1);
        }
      }
    }
  }
}

TEST_CASE_FIXTURE(ManyChunks,
                  "a file that ends in one of several regions fails the load with that offset") {
  const auto left_bytes = std::filesystem::file_size(path) - 16 * chunk_bytes;
  for (const bool stage : {true, false}) {
    Progress progress;
    progress.on_eighth = [&] { std::filesystem::resize_file(path, left_bytes); };
    auto options = from_places(4, stage);
    options.observer = &progress;
    options.read.mode = ReadMode::buffered;
    test::DeviceLoader loader(device, options);
    const Buffer arena = dirty_arena();
    std::string message;
    try {
      loader.load(model, layout, arena);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::input_failed);
      message = error.what();
    }
    CHECK(message.find("ends at offset " + std::to_string(left_bytes) + ", ") != std::string::npos);
    CHECK(arrived(arena) == Places{0, 1, 2, 8, 9, 10, 16, 17, 24, 25});  // and 18 did not
    test::write_small_model(path, tensors);
    model = ModelFile::open(path);
    loader.load(model, layout, arena);
    CHECK(test::bytes_of(arena) == tensors[0].bytes);
  }
}

TEST_CASE_FIXTURE(OneDeviceFixture,
                  "an arena that is too small is refused before anything is read") {
  test::DeviceLoader loader(device);
  CHECK(code_of([&] { loader.load(model, layout, Buffer(device, layout.arena_bytes - 1)); }) ==
        ErrorCode::out_of_bounds);
}
