// SPDX-License-Identifier: MIT
/// A write to an earlier address that lands when the last copy has arrived, as from a stuck address
/// line or a wrong mapping. Digests taken as the chunks arrive do not see it: all of them are done
/// by then.
#include <doctest/doctest.h>

#include <functional>

#include "load/transfer/transfer.hpp"
#include "core/platform_state.hpp"
#include "load/verify/file_digests.hpp"
#include "load/verify/verification.hpp"
#include "small_model.hpp"
#include "unit/load/watched_device.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

/// Calls `write` once, when the last chunk of a load was read and queued.
class AfterLastChunk final : public LoadObserver {
 public:
  explicit AfterLastChunk(std::function<void()> write) : write_(std::move(write)) {}
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override {
    if (done_bytes == total_bytes) write_();
  }

 private:
  std::function<void()> write_;
};

/// 40 tensors of 64 KiB and some, so that there are more chunks than are digested at once.
struct ManyTensors {
  static std::vector<test::SmallTensor> make_tensors() {
    std::vector<test::SmallTensor> tensors;
    for (std::uint64_t i = 0; i < 40; ++i) {
      tensors.push_back({"blk." + std::to_string(i) + ".w", test::random_bytes(65'000 + i, i)});
    }
    return tensors;
  }

  test::TemporaryFolder folder;
  ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", make_tensors()));

  /// Loads the plan, damages the first byte of the largest arena late, and verifies.
  VerifyResult load(const LoadPlan& plan, test::WrapperTable& table, bool stages,
                    bool reads_twice) const {
    AfterLastChunk late([&table] { table.damage_largest(0); });
    TransferOptions options;
    options.slot_bytes = 65'536;
    options.readers = 4;
    options.always_stage = stages;
    options.observer = &late;
    Transfer loader(model, plan, options);
    const auto arenas = loader.allocate();
    const auto files = reads_twice ? std::make_shared<FileDigests>(model) : nullptr;
    Verification verification(model, plan, arenas, files);
    CHECK_FALSE(verification.image().empty());
    loader.load(arenas, &verification);
    return verification.finish();
  }

  void check_found(const VerifyResult& found, const DevicePlan& damaged) const {
    CHECK(found.mismatch_count == 1);
    CHECK(found.mismatches.size() == 1);
    if (found.mismatches.empty()) return;
    const TensorInfo& tensor = model.tensors()[damaged.layout.placements.front().tensor];
    CHECK(found.mismatches[0].tensor == tensor.name);
    CHECK(found.mismatches[0].file_offset == tensor.file_offset);
    CHECK(found.mismatches[0].device_offset == 0);
    CHECK(found.mismatches[0].size_bytes == 1);
    CHECK(found.mismatches[0].device == damaged.device.id());
  }
};

struct OneDevice : ManyTensors, test::WatchedDevice {};

}  // namespace

TEST_CASE_FIXTURE(OneDevice, "a write after the last copy is found, staged and in place") {
  const LoadPlan plan = plan_load(model, std::span(&device, 1));
  for (const bool stages : {true, false}) {
    for (const bool reads_twice : {true, false}) {
      CAPTURE(stages);
      CAPTURE(reads_twice);
      check_found(load(plan, table, stages, reads_twice), plan.devices[0]);
    }
  }
}

TEST_CASE_FIXTURE(ManyTensors, "a write after the last copy is found on the device that has it") {
  Platforms::Options four;
  four.cpu_devices = 4;
  const auto binder = std::make_shared<test::WrapperBinder>(hip::make_registry());
  Platforms platforms = core::make_platforms(four, binder);
  const auto devices = platforms.devices(Platform::cpu);
  const LoadPlan plan = plan_load(model, devices, {SplitKind::proportions, {1, 2, 4, 1}});
  for (const bool stages : {true, false}) {
    for (const bool reads_twice : {true, false}) {
      CAPTURE(stages);
      CAPTURE(reads_twice);
      check_found(load(plan, *binder->table(Platform::cpu), stages, reads_twice), plan.devices[2]);
    }
  }
}
