// SPDX-License-Identifier: MIT
#include "load/verify/device_digests.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/verification.hpp"
#include "small_model.hpp"
#include "unit/load/device_loader.hpp"
#include "unit/load/watched_device.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

struct DeviceDigestsFixture : test::WatchedDevice {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  ArenaLayout layout = lay_out(model);
  LoadPlan plan = test::plan_of_one(device, layout);
  Buffer arena{device, layout.arena_bytes};
  std::span<const Buffer> arenas{&arena, 1};

  std::shared_ptr<FileDigests> reference(bool reads_twice = true) const {
    return reads_twice ? std::make_shared<FileDigests>(model) : nullptr;
  }
  TransferOptions staged() const {
    TransferOptions options;
    options.slot_bytes = 65'536;
    options.readers = 3;
    options.always_stage = true;
    return options;
  }
  static void flip(const Buffer& memory, std::uint64_t place) {
    std::array<std::byte, 1> byte{};
    copy_d2h_and_wait(byte, memory.view(place, 1));
    byte[0] ^= std::byte{1};
    copy_h2d_and_wait(memory.view(place, 1), byte);
  }
  /// The calls that load a module and that were made so far.
  std::uint64_t module_loads() const {
    return table.count("hipModuleLoadData") + table.count("hipModuleLoadDataEx");
  }
  /// The call that loads the module waits for that.
  void hold_module(std::shared_future<void> opened) {
    const auto wait = [opened] {
      CHECK(opened.wait_for(test::hang_guard) == std::future_status::ready);
    };
    table.run_before("hipModuleLoadData", wait);
    table.run_before("hipModuleLoadDataEx", wait);
  }
};

}  // namespace

TEST_CASE_FIXTURE(DeviceDigestsFixture,
                  "little memory is digested in one launch after the load, or by 8 MiB") {
  tensors.push_back({"large", test::random_bytes((17u << 20) + 5, 99)});
  const ModelFile larger =
      ModelFile::open(test::write_small_model(folder.path() / "l.safetensors", tensors));
  const LoadPlan one = plan_load(larger, std::span(&device, 1));
  const Buffer memory(device, one.devices[0].layout.arena_bytes);
  test::DeviceLoader loader(device, staged());
  Verification verification(larger, one, std::span(&memory, 1),
                            std::make_shared<FileDigests>(larger));
  CHECK_FALSE(verification.image().empty());
  table.reset();
  loader.load(larger, one.devices[0].layout, memory, &verification);
  CHECK(table.count("hipModuleLaunchKernel") == 0);
  for (const std::uint64_t times : {1u, 2u}) {
    CHECK(verification.finish().mismatch_count == 0);
    const std::uint64_t launches = device.is_host_memory() ? 3 : 1;  // 18.1 MiB
    CHECK(table.count("hipModuleLaunchKernel") == times * launches);
  }
}

TEST_CASE_FIXTURE(DeviceDigestsFixture, "the digests of much memory are compared as they arrive") {
  // Two pieces of a GPU and a little more; the processor has no such pieces.
  const std::uint64_t piece_bytes = device.is_host_memory() ? 1u << 20 : 32u << 20;
  const std::uint64_t mebibyte = 1u << 20;
  const std::vector<test::SmallTensor> several{
      {"a", test::random_bytes(piece_bytes + mebibyte + 5, 1)},
      {"b", test::random_bytes(100, 2)},
      {"c", test::random_bytes(mebibyte + 1, 3)},
      {"d", test::random_bytes(piece_bytes, 4)}};
  const ModelFile larger =
      ModelFile::open(test::write_small_model(folder.path() / "l.safetensors", several));
  const LoadPlan one = plan_load(larger, std::span(&device, 1));
  const ArenaLayout& places = one.devices[0].layout;
  const Buffer memory(device, places.arena_bytes);
  test::DeviceLoader(device).load(larger, places, memory);
  const auto files = std::make_shared<FileDigests>(larger);
  std::vector<std::uint64_t> expected;
  const BlockMap blocks(larger);
  for (const Placement& placement : places.placements) {
    const std::uint64_t first = blocks.first[placement.tensor];
    const auto of_tensor = files->get().subspan(first, blocks.first[placement.tensor + 1] - first);
    expected.insert(expected.end(), of_tensor.begin(), of_tensor.end());
  }
  DeviceDigests digests(larger, places, memory, {});
  std::vector<std::size_t> arrived;
  const auto check = [&](std::span<const std::uint64_t> so_far) {
    CHECK(std::ranges::equal(so_far, std::span(expected).first(so_far.size())));
    arrived.push_back(so_far.size());
  };
  // What takes them ends the pass with launches that are queued; the next one is right.
  const auto refuse = [](std::span<const std::uint64_t>) { throw std::runtime_error("refused"); };
  CHECK_THROWS_WITH(digests.compute(refuse), "refused");
  CHECK(std::ranges::equal(digests.compute(check), expected));
  const std::size_t piece = piece_bytes / block_bytes;
  CHECK(arrived == (device.is_host_memory()
                        ? std::vector<std::size_t>{expected.size()}
                        : std::vector<std::size_t>{piece, 2 * piece, expected.size()}));
  // So does a token.
  CancelToken cancel;
  VerifyOptions options;
  options.cancel = &cancel;
  DeviceDigests cancelled(larger, places, memory, options);
  const auto set = [&](std::span<const std::uint64_t>) { cancel.cancel(); };
  if (device.is_host_memory()) {
    CHECK(std::ranges::equal(cancelled.compute(set), expected));  // all have arrived at once
  } else {
    CHECK(test::code_of([&] { cancelled.compute(set); }) == ErrorCode::cancelled);
  }
  // Damage in each piece, also at its edges.
  const std::vector<std::uint64_t> damaged{3, piece_bytes + mebibyte + 4,
                                           piece_bytes + 2 * mebibyte, places.arena_bytes - 300};
  for (const std::uint64_t place : damaged) flip(memory, place);
  const VerifyResult result = Verification(larger, one, std::span(&memory, 1), files).finish();
  CHECK(result.mismatch_count == damaged.size());
  REQUIRE(result.mismatches.size() == damaged.size());
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    CHECK(result.mismatches[i].device_offset == damaged[i]);
  }
}

TEST_CASE("a GPU's digests are launched in six pieces at most, of 32 MiB at least") {
  const std::uint64_t least = (32u << 20) / block_bytes;
  for (const std::uint64_t blocks :
       {std::uint64_t{1}, least, 6 * least, 6 * least + 1, 7 * least, std::uint64_t{9'000'001}}) {
    CAPTURE(blocks);
    const std::uint64_t piece = launch_blocks(false, blocks);
    CHECK(piece >= least);
    CHECK((blocks + piece - 1) / piece == std::min<std::uint64_t>(6, (blocks + least - 1) / least));
    CHECK(launch_blocks(true, blocks) == (8u << 20) / block_bytes);
  }
}

TEST_CASE_FIXTURE(DeviceDigestsFixture,
                  "a kernel that takes long to load does not delay the load") {
  for (const bool reads_twice : {true, false}) {
    table.reset();
    std::promise<void> loaded;
    hold_module(loaded.get_future().share());
    Verification verification(model, plan, arenas, reference(reads_twice));
    test::DeviceLoader loader(device, staged());
    loader.load(model, layout, arena, &verification);
    loaded.set_value();
    const VerifyResult result = verification.finish();
    CHECK(result.mismatch_count == 0);
    CHECK(result.blocks > 0);
    CHECK(module_loads() == 1);
  }
}

TEST_CASE_FIXTURE(DeviceDigestsFixture, "damage is found no matter when the kernel is ready") {
  for (const bool is_late : {false, true}) {
    table.reset();
    std::promise<void> loaded;
    if (is_late) hold_module(loaded.get_future().share());
    test::DeviceLoader loader(device, staged());
    Verification verification(model, plan, arenas, reference());
    // The table of tensors is copied with the kernel: before the load, or behind it.
    if (!is_late) verification.image();
    // A chunk begins with a tensor, and may hold no more than a few bytes and a gap.
    table.corrupt_copy(4, 0);
    loader.load(model, layout, arena, &verification);
    loaded.set_value();
    CHECK(verification.finish().mismatch_count == 1);
  }
}

TEST_CASE_FIXTURE(DeviceDigestsFixture,
                  "a kernel that cannot be loaded is an error of finish, not of the load") {
  const std::set<std::string> calls{"hipModuleLoadData", "hipModuleLoadDataEx"};
  table.reset();
  for (const std::string& call : calls) table.fail(call, hip::hipErrorInvalidImage);
  Verification verification(model, plan, arenas, nullptr);
  test::DeviceLoader loader(device, staged());
  CHECK(loader.load(model, layout, arena, &verification).read_bytes == layout.tensor_bytes);
  CHECK_THROWS_AS(verification.finish(), Error);
  CHECK_THROWS_AS(verification.image(), Error);
  CHECK(table.count("hipModuleLaunchKernel") == 0);
}

TEST_CASE_FIXTURE(DeviceDigestsFixture,
                  "whichever call fails, it is an error or the right answer, and no leak") {
  const auto attempt = [&] {
    const Buffer fresh(device, layout.arena_bytes);
    test::DeviceLoader loader(device, staged());
    Verification verification(model, plan, std::span(&fresh, 1), nullptr);
    loader.load(model, layout, fresh, &verification);
    return verification.finish();
  };
  arena = Buffer();
  table.reset();
  attempt();
  const auto trace = table.trace();
  const std::set<std::string_view> calls(trace.begin(), trace.end());
  CHECK(calls.count("hipModuleLaunchKernel") == 1);
  int failed = 0;
  for (const std::string_view call : calls) {
    for (const std::uint64_t nth : {1u, 4u}) {
      CAPTURE(std::string(call));
      CAPTURE(nth);
      table.reset();
      table.fail(call, hip::hipErrorUnknown, nth);
      try {
        const VerifyResult result = attempt();
        CHECK(result.mismatch_count == 0);
      } catch (const Error& error) {
        ++failed;
        CHECK(error.code() != ErrorCode::internal);
      }
      CHECK(table.live().is_empty());
    }
  }
  CHECK(failed > 10);
}

TEST_CASE_FIXTURE(DeviceDigestsFixture, "tensors may be in another order than in the file") {
  ArenaLayout reversed;
  for (std::size_t i = model.tensors().size(); i-- > 0;) {
    const std::uint64_t offset = (reversed.arena_bytes + 255) / 256 * 256;
    reversed.placements.push_back({static_cast<std::uint32_t>(i), offset});
    reversed.arena_bytes = offset + model.tensors()[i].size_bytes;
    reversed.tensor_bytes += model.tensors()[i].size_bytes;
  }
  plan = test::plan_of_one(device, reversed);
  arena = Buffer(device, reversed.arena_bytes);
  test::DeviceLoader loader(device, staged());
  Verification verification(model, plan, arenas, reference());
  loader.load(model, reversed, arena, &verification);
  CHECK(verification.finish().mismatch_count == 0);
  CHECK(verification.finish().mismatch_count == 0);
}

TEST_CASE_FIXTURE(DeviceDigestsFixture, "a set token ends the pass before the next launch") {
  CancelToken cancel;
  VerifyOptions options;
  options.cancel = &cancel;
  Verification verification(model, plan, arenas, nullptr, options);
  test::DeviceLoader(device, staged()).load(model, layout, arena, &verification);
  cancel.cancel();
  CHECK(test::code_of([&] { verification.finish(); }) == ErrorCode::cancelled);
  CHECK(table.count("hipModuleLaunchKernel") == 0);
}

TEST_CASE_FIXTURE(DeviceDigestsFixture,
                  "a missing image and compiler are reported before the load") {
  Platforms others = core::make_platforms({}, std::make_shared<test::NoImageBinder>());
  const Device other = others.devices(Platform::nvidia).at(0);
  const LoadPlan there = test::plan_of_one(other, layout);
  const Buffer memory(other, layout.arena_bytes);
  try {
    Verification verification(model, there, std::span(&memory, 1), reference());
    FAIL("a kernel came from nowhere");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
  }
}

TEST_CASE_FIXTURE(DeviceDigestsFixture,
                  "a second reader that started early serves several verifications") {
  const auto files = std::make_shared<FileDigests>(model);
  const auto digests = files->get();
  for (int i = 0; i < 2; ++i) {
    test::DeviceLoader loader(device, staged());
    Verification verification(model, plan, arenas, files);
    loader.load(model, layout, arena, &verification);
    const VerifyResult result = verification.finish();
    CHECK(result.mismatch_count == 0);
    CHECK(result.blocks == digests.size());
  }
  const auto path = test::write_small_model(folder.path() / "o.safetensors", {tensors[7]});
  const ModelFile other = ModelFile::open(path);
  const LoadPlan other_plan = plan_load(other, std::span(&device, 1));
  Verification verification(other, other_plan, arenas, files);
  CHECK_THROWS_AS(verification.finish(), Error);
}
