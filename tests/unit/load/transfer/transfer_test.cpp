// SPDX-License-Identifier: MIT
#include "load/transfer/transfer.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "buffer_bytes.hpp"
#include "core/platform_state.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/binding.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "load/verify/self_test.hpp"
#include "load/verify/verification.hpp"
#include "small_model.hpp"
#include "unit/load/highest_progress.hpp"
#include "unit/load/thread_ids.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

struct Case {
  LoadSplit split;
  bool stages = true;
  bool reads_twice = true;  ///< verified against a second reading, not against the slots
  std::uint32_t regions = 1;
};

/// Four cpu devices behind a table that keeps account of them.
struct PlanLoaderFixture {
  PlanLoaderFixture() {
    Platforms::Options options;
    options.cpu_devices = 4;
    platforms = std::make_unique<Platforms>(core::make_platforms(options, binder));
    devices = platforms->devices(Platform::cpu);
    table = binder->table(Platform::cpu);
  }
  TransferOptions options(bool stages, std::uint32_t regions = 1) const {
    TransferOptions options;
    options.slot_bytes = 40'000;
    options.readers = 8;
    options.slots = 3;
    options.always_stage = stages;
    options.regions = regions;
    return options;
  }
  // What the device must hold: tensors at multiples of 256, zeros between.
  std::vector<std::byte> expected(const ArenaLayout& layout) const {
    std::vector<test::SmallTensor> part;
    for (const Placement& placement : layout.placements) {
      const std::string name = model.tensors()[placement.tensor].name;
      for (const auto& tensor : tensors) {
        if (tensor.name == name) part.push_back(tensor);
      }
    }
    return test::expected_arena(part);
  }
  void check_arenas(const LoadPlan& plan, const std::vector<Buffer>& arenas) const {
    for (std::size_t i = 0; i < arenas.size(); ++i) {
      CHECK(test::bytes_of(arenas[i]) == expected(plan.devices[i].layout));
    }
  }
  std::shared_ptr<FileDigests> reference(bool reads_twice) const {
    return reads_twice ? std::make_shared<FileDigests>(model) : nullptr;
  }
  std::vector<Case> cases() const {
    std::vector<Case> all;
    for (const LoadSplit& split :
         {LoadSplit{SplitKind::bytes, {}}, LoadSplit{SplitKind::layer, {}},
          LoadSplit{SplitKind::proportions, {1, 5, 2, 3}}, LoadSplit{SplitKind::replicate, {}}}) {
      for (const bool stages : {true, false}) {
        for (const bool twice : {true, false}) {
          for (const std::uint32_t regions : {1u, 12u}) {
            // Any two of the three choices, but not all of them.
            if (test::is_sanitized && (stages == twice) != (regions > 1)) continue;
            all.push_back({split, stages, twice, regions});
          }
        }
      }
    }
    return all;
  }
  void flip(const Buffer& arena, std::uint64_t device_offset) const {
    std::byte value[1];
    copy_d2h_and_wait(value, arena.view(device_offset, 1));
    value[0] ^= std::byte{1};
    copy_h2d_and_wait(arena.view(device_offset, 1), value);
  }

  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  std::shared_ptr<test::WrapperBinder> binder =
      std::make_shared<test::WrapperBinder>(hip::make_registry());
  std::unique_ptr<Platforms> platforms;
  std::vector<Device> devices;
  test::WrapperTable* table = nullptr;
};

/// Cancels when two threads have reported four times each.
class FourEach final : public LoadObserver {
 public:
  explicit FourEach(CancelToken& cancel) : cancel_(cancel) {}
  void on_progress(std::uint64_t, std::uint64_t) noexcept override {
    std::unique_lock lock(mutex_);
    if (++calls_[std::this_thread::get_id()] < 4) return;
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return waiting_ >= 2; });
    cancel_.cancel();
  }

 private:
  CancelToken& cancel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::thread::id, int> calls_;
  int waiting_ = 0;
};

}  // namespace

TEST_CASE_FIXTURE(PlanLoaderFixture,
                  "all bytes arrive on all devices, by every split, and are verified") {
  const VerifyResult whole = [&] {
    const LoadPlan plan = plan_load(model, std::span(devices).first(1));
    Transfer loader(model, plan, options(true));
    auto arenas = loader.allocate();
    loader.load(arenas);
    return verify_readback(model, plan.devices[0].layout, arenas[0]);
  }();
  REQUIRE(whole.mismatch_count == 0);
  for (const Case& one : cases()) {
    CAPTURE(static_cast<int>(one.split.kind));
    CAPTURE(one.stages);
    CAPTURE(one.reads_twice);
    CAPTURE(one.regions);
    const LoadPlan plan = plan_load(model, devices, one.split);
    test::HighestProgress progress;
    auto chosen = options(one.stages, one.regions);
    chosen.parts = one.regions > 1 ? 3 : 1;
    chosen.observer = &progress;
    Transfer loader(model, plan, chosen);
    auto arenas = loader.allocate();
    Verification verification(model, plan, arenas, reference(one.reads_twice));
    const TransferStatistics statistics = loader.load(arenas, &verification);
    check_arenas(plan, arenas);
    const VerifyResult result = verification.finish();
    const std::uint64_t copies = one.split.kind == SplitKind::replicate ? devices.size() : 1;
    CHECK(result.mismatch_count == 0);
    CHECK(result.blocks == whole.blocks * copies);
    CHECK(result.compared_bytes == model.tensor_bytes() * copies);
    CHECK(result.model_digest == whole.model_digest);
    CHECK(result.tensor_digests == whole.tensor_digests);
    CHECK(progress.highest() == model.tensor_bytes());
    CHECK(progress.total() == model.tensor_bytes());
    CHECK(statistics.total.read_bytes == model.tensor_bytes());
    REQUIRE(statistics.devices.size() == devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      CHECK(statistics.devices[i].copied_bytes == plan.devices[i].layout.arena_bytes);
      const bool is_timed = one.stages && plan.devices[i].layout.arena_bytes > 0;
      if (is_timed) CHECK(statistics.devices[i].copy_time_s > 0);
    }
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture,
                  "copies are read once, and come from the slot where no peer is reached") {
  const LoadPlan plan = plan_load(model, devices, {SplitKind::replicate, {}});
  for (const std::uint64_t unreached : {0u, 1u, 3u}) {
    CAPTURE(unreached);
    auto chosen = options(true);
    chosen.parts = unreached == 1 ? 1 : 4;
    table->reset();
    if (unreached > 0) {
      table->fail("hipDeviceCanAccessPeer", hip::hipErrorUnknown, 1, unreached);
    }
    Transfer loader(model, plan, chosen);
    std::uint64_t reached = 0;
    for (const bool reaches : loader.reaches_first()) reached += reaches ? 1 : 0;
    CHECK(reached == 3 - unreached);
    auto arenas = loader.allocate();
    Verification verification(model, plan, arenas, nullptr);
    // Slow streams: a slot that is filled too early carries other bytes.
    table->delay_streams(unreached + 1, std::chrono::microseconds(300));
    CHECK(loader.load(arenas, &verification).total.read_bytes == model.tensor_bytes());
    CHECK(verification.finish().mismatch_count == 0);
    check_arenas(plan, arenas);
    CHECK((table->count("hipMemcpyPeerAsync") > 0) == (reached > 0));
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture,
                  "peer access lasts as long as the loader, unless it was there before") {
  const LoadPlan plan = plan_load(model, devices, {SplitKind::replicate, {}});
  REQUIRE(enable_peer_access(devices[2], devices[0]));
  { const Transfer loader(model, plan, options(true)); }
  CHECK_FALSE(disable_peer_access(devices[1], devices[0]));
  CHECK(disable_peer_access(devices[2], devices[0]));
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "damage is named with its device, tensor and place") {
  int seen = 0;
  for (const Case& one : cases()) {
    CAPTURE(static_cast<int>(one.split.kind));
    const LoadPlan plan = plan_load(model, devices, one.split);
    Transfer loader(model, plan, options(one.stages, one.regions));
    auto arenas = loader.allocate();
    Verification verification(model, plan, arenas, reference(one.reads_twice));
    loader.load(arenas, &verification);
    REQUIRE(verification.finish().mismatch_count == 0);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      for (const Placement& placement : plan.devices[i].layout.placements) {
        const TensorInfo& tensor = model.tensors()[placement.tensor];
        if (tensor.size_bytes == 0) continue;
        if (test::is_sanitized && ++seen % 4 != 0) continue;
        const std::uint64_t at = tensor.size_bytes - 1;
        flip(arenas[i], placement.device_offset + at);
        const VerifyResult found = verification.finish();
        flip(arenas[i], placement.device_offset + at);
        REQUIRE(found.mismatches.size() == 1);
        CHECK(found.mismatch_count == 1);
        CHECK(found.mismatches[0].device == devices[i].id());
        CHECK(found.mismatches[0].tensor == tensor.name);
        CHECK(found.mismatches[0].file_offset == tensor.file_offset + at);
        CHECK(found.mismatches[0].device_offset == placement.device_offset + at);
      }
    }
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture,
                  "a damaged copy on the way is found on its device, read back too") {
  for (const Case& one : cases()) {
    if (!one.stages || !one.reads_twice) continue;
    CAPTURE(static_cast<int>(one.split.kind));
    const LoadPlan plan = plan_load(model, devices, one.split);
    Transfer loader(model, plan, options(true, one.regions));
    auto arenas = loader.allocate();
    int found = 0;
    for (std::uint64_t nth = 1; nth <= 8; ++nth) {
      table->corrupt_copy(nth, 0);
      loader.load(arenas);
      table->reset();
      std::vector<VerifyResult> results;
      for (std::size_t i = 0; i < devices.size(); ++i) {
        results.push_back(verify_readback(model, plan.devices[i].layout, arenas[i]));
      }
      const VerifyResult joined = join_results(model, plan, results);
      if (joined.mismatches.empty()) continue;  // it hit a gap between tensors
      ++found;
      std::set<std::string> names;
      std::set<std::string> ids;
      for (const Mismatch& mismatch : joined.mismatches) {
        CHECK(mismatch.size_bytes == 1);
        names.insert(mismatch.tensor);
        ids.insert(mismatch.device);
      }
      CHECK(names.size() == 1);
      CHECK(ids.size() == joined.mismatches.size());  // copies of what is damaged are damaged too
    }
    CHECK(found >= 4);
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture,
                  "a device that fails is named, stops the others and leaks nothing") {
  const auto before = table->live();
  for (const Case& one : cases()) {
    if (!one.stages || !one.reads_twice) continue;
    CAPTURE(static_cast<int>(one.split.kind));
    for (const char* call : {"hipMalloc", "hipHostRegister", "hipMemcpyAsync", "hipEventRecord",
                             "hipStreamWaitEvent", "hipMemcpyPeerAsync", "hipEventSynchronize"}) {
      for (const std::uint64_t nth : {1u, 3u, 6u}) {
        CAPTURE(call);
        CAPTURE(nth);
        bool has_failed = false;
        std::uint64_t calls = 0;
        try {
          const LoadPlan plan = plan_load(model, devices, one.split);
          Transfer loader(model, plan, options(true, one.regions));
          table->reset();
          table->fail(call, hip::hipErrorUnknown, nth);
          auto arenas = loader.allocate();
          Verification verification(model, plan, arenas, reference(true));
          loader.load(arenas, &verification);
          verification.finish();
        } catch (const Error& error) {
          has_failed = true;
          CHECK(error.code() == ErrorCode::device);
          CHECK(std::string(error.what()).find("cpu:") != std::string::npos);
        }
        calls = table->count(call);
        table->reset();
        CHECK(has_failed == (calls >= nth));
        const auto after = table->live();
        CHECK(after.device_memory == before.device_memory);
        CHECK(after.registrations == before.registrations);
        CHECK(after.streams == before.streams);
        CHECK(after.events == before.events);
      }
    }
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "the other devices stop before they are done") {
  const LoadPlan plan = plan_load(model, devices, {SplitKind::proportions, {9, 1, 1, 1}});
  test::HighestProgress progress;
  auto chosen = options(true);
  chosen.observer = &progress;
  chosen.slots = 1;
  chosen.readers = 4;
  Transfer loader(model, plan, chosen);
  auto arenas = loader.allocate();
  arenas[3] = arenas[3].view(0, 1);  // the last to start
  table->delay_streams(1, std::chrono::microseconds(20'000));
  CHECK_THROWS_AS(loader.load(arenas), Error);
  CHECK(progress.highest() < model.tensor_bytes() / 2);
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "after a failure no copy to any device is in flight") {
  const LoadPlan plan = plan_load(model, devices, {SplitKind::replicate, {}});
  for (const char* call : {"hipMemcpyAsync", "hipMemcpyPeerAsync"}) {
    const bool by_peers = std::string(call) == "hipMemcpyPeerAsync";
    table->reset();
    if (!by_peers) table->fail("hipDeviceCanAccessPeer", hip::hipErrorUnknown, 1, 3);
    Transfer loader(model, plan, options(true));
    auto arenas = loader.allocate();
    table->delay_streams(3, std::chrono::microseconds(30'000));
    table->fail(call, hip::hipErrorUnknown, 9);
    CHECK_THROWS_AS(loader.load(arenas), Error);
    table->reset();
    const std::vector<std::byte> mark(plan.devices[0].layout.arena_bytes, std::byte{0xEE});
    for (Buffer& arena : arenas) copy_h2d_and_wait(arena, mark);
    // Whatever was still queued on any stream of a device ends here.
    for (std::size_t i = 0; i < devices.size(); ++i) {
      CHECK(table->api().hipSetDevice(static_cast<int>(i)) == hip::hipSuccess);
      CHECK(table->api().hipDeviceSynchronize() == hip::hipSuccess);
    }
    CHECK(table->api().hipSetDevice(0) == hip::hipSuccess);
    for (const Buffer& arena : arenas) CHECK(test::bytes_of(arena) == mark);
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture,
                  "devices in excess of a model's parts get no memory and no bytes") {
  const ModelFile small = ModelFile::open(test::write_small_model(
      folder.path() / "s.safetensors",
      {{"blk.0.a", test::random_bytes(50'000, 1)}, {"blk.1.a", test::random_bytes(50'000, 2)}}));
  const LoadPlan plan = plan_load(small, devices);
  Transfer loader(small, plan, options(true));
  auto arenas = loader.allocate();
  Verification verification(small, plan, arenas, std::make_shared<FileDigests>(small));
  const TransferStatistics statistics = loader.load(arenas, &verification);
  CHECK(verification.finish().mismatch_count == 0);
  int empty = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!plan.devices[i].layout.placements.empty()) continue;
    ++empty;
    CHECK(arenas[i].is_empty());
    CHECK(statistics.devices[i].copied_bytes == 0);
  }
  CHECK(empty == 2);
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "wrong arenas, foreign streams and a set token are refused") {
  const LoadPlan plan = plan_load(model, std::span(devices).first(2));
  CancelToken cancel;
  auto chosen = options(true);
  chosen.cancel = &cancel;
  Transfer loader(model, plan, chosen);
  auto arenas = loader.allocate();
  CHECK_THROWS_AS(loader.load(std::span(arenas).first(1)), Error);
  CHECK_THROWS_AS(Verification(model, plan, std::span(arenas).first(1), nullptr), Error);
  const std::vector<Buffer> short_one{arenas[0], arenas[1].view(0, 10)};
  try {
    loader.load(short_one);
    FAIL("an arena of 10 bytes held a model");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_bounds);
  }
  loader.load(arenas);
  cancel.cancel();
  CHECK_THROWS_AS(loader.load(arenas), Error);
  const Stream foreign(devices[3]);
  auto with_foreign = options(true);
  with_foreign.external_streams = {foreign};
  CHECK_THROWS_AS(Transfer(model, plan, with_foreign), Error);
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "devices share the regions that are read alternately") {
  // Each device has 16 chunks and one reader, which waits for the other after four of them.
  const std::uint64_t part_bytes = 32 * block_bytes;
  const ModelFile two = ModelFile::open(test::write_small_model(
      folder.path() / "t.safetensors", {{"blk.0.a", test::random_bytes(part_bytes, 1)},
                                        {"blk.1.a", test::random_bytes(part_bytes, 2)}}));
  for (const std::uint32_t regions : {1u, 4u}) {
    CAPTURE(regions);
    const auto expected = regions == 1 ? std::set{0, 1, 2, 3} : std::set{0, 1, 8, 9};
    CancelToken cancel;
    FourEach progress(cancel);
    auto chosen = options(true, regions);
    chosen.slot_bytes = 2 * block_bytes;
    chosen.readers = 2;
    chosen.cancel = &cancel;
    chosen.observer = &progress;
    const LoadPlan plan = plan_load(two, std::span(devices).first(2));
    Transfer loader(two, plan, chosen);
    auto arenas = loader.allocate();
    const std::vector<std::byte> zeros(part_bytes);
    for (Buffer& arena : arenas) copy_h2d_and_wait(arena, zeros);
    CHECK_THROWS_AS(loader.load(arenas), Error);
    for (const Buffer& arena : arenas) {
      const auto found = test::bytes_of(arena);
      std::set<int> arrived;
      for (int i = 0; i < 16; ++i) {
        const auto chunk =
            std::span(found).subspan(std::size_t(i) * 2 * block_bytes, 2 * block_bytes);
        if (std::any_of(chunk.begin(), chunk.end(), [](std::byte b) { return b != std::byte{0}; }))
          arrived.insert(i);
      }
      CHECK(arrived == expected);
    }
  }
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "streams of the caller carry the copies of their device") {
  const LoadPlan plan = plan_load(model, std::span(devices).first(2));
  const Stream mine(devices[1]);
  auto chosen = options(true);
  chosen.external_streams = {mine};
  const auto before = table->live().streams;
  Transfer loader(model, plan, chosen);
  CHECK(table->live().streams - before == chosen.streams);  // those of the other device
  auto arenas = loader.allocate();
  loader.load(arenas);
  check_arenas(plan, arenas);
}

TEST_CASE_FIXTURE(PlanLoaderFixture, "the threads that were prepared read in each load") {
  struct Readers final : LoadObserver {
    void on_progress(std::uint64_t, std::uint64_t) noexcept override {
      const std::lock_guard lock(mutex);
      ids.insert(gettid());
    }
    std::mutex mutex;
    std::set<pid_t> ids;
  } readers;
  const LoadPlan plan = plan_load(model, std::span(devices).first(2));
  auto chosen = options(true);
  chosen.observer = &readers;
  Transfer loader(model, plan, chosen);
  loader.prepare();
  const std::set<pid_t> there = test::thread_ids();
  const auto arenas = loader.allocate();
  // Were they others in each load, more of them would have read.
  for (std::uint32_t i = 0; i <= chosen.readers; ++i) loader.load(arenas);
  CHECK(readers.ids.size() <= chosen.readers);
  for (const pid_t id : readers.ids) CHECK(there.count(id) == 1);
  check_arenas(plan, arenas);
}
