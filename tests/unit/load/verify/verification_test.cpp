// SPDX-License-Identifier: MIT
#include "load/verify/verification.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/layout/chunks.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/self_test.hpp"
#include "load/verify/slot_digests.hpp"
#include "small_model.hpp"
#include "unit/load/device_loader.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

struct VerificationFixture : test::ModelFixture {
  LoadPlan plan = test::plan_of_one(device, layout);
  Buffer arena{device, layout.arena_bytes};
  std::span<const Buffer> arenas{&arena, 1};

  std::shared_ptr<FileDigests> reference(bool reads_twice) const {
    return reads_twice ? std::make_shared<FileDigests>(model) : nullptr;
  }

  TransferOptions staged(std::uint64_t slot_bytes) const {
    TransferOptions options;
    options.slot_bytes = slot_bytes;
    options.readers = 3;
    options.always_stage = true;
    return options;
  }
  void flip(std::uint64_t device_offset) const {
    std::byte value[1];
    copy_d2h_and_wait(value, arena.view(device_offset, 1));
    value[0] ^= std::byte{1};
    copy_h2d_and_wait(arena.view(device_offset, 1), value);
  }
};

}  // namespace

TEST_CASE_FIXTURE(VerificationFixture,
                  "chunks cover the arena and cut tensors only between blocks") {
  for (const std::uint64_t most : {32'768u, 50'000u, 65'536u, 1'000'000u, 8'388'608u}) {
    CAPTURE(most);
    std::uint64_t end = 0;
    for (const base::ByteRange& chunk : load::cut_chunks(model, layout, most)) {
      CHECK(chunk.offset == end);
      CHECK(chunk.size_bytes > 0);
      CHECK(chunk.size_bytes <= most);
      end = chunk.end();
      for (const Placement& placement : layout.placements) {
        const std::uint64_t size = model.tensors()[placement.tensor].size_bytes;
        const bool cuts = placement.device_offset < end && end < placement.device_offset + size;
        if (cuts) CHECK((end - placement.device_offset) % block_bytes == 0);
      }
    }
    CHECK(end == layout.arena_bytes);
  }
  for (const base::ByteRange& chunk : load::cut_chunks(model, layout, 100)) {
    CHECK(chunk.size_bytes <= 100);
  }
}

TEST_CASE_FIXTURE(VerificationFixture,
                  "both references agree with a read-back, staged and in place") {
  {
    test::DeviceLoader loader(device);
    loader.load(model, layout, arena);
  }
  const VerifyResult readback = verify_readback(model, layout, arena);
  for (const bool reads_twice : {true, false}) {
    for (const bool stage : {true, false}) {
      auto options = staged(40'000);
      options.always_stage = stage;
      test::DeviceLoader loader(device, options);
      Verification verification(model, plan, arenas, reference(reads_twice));
      loader.load(model, layout, arena, &verification);
      const VerifyResult result = verification.finish();
      CHECK(result.mismatch_count == 0);
      CHECK(result.blocks == readback.blocks);
      CHECK(result.model_digest == readback.model_digest);
      CHECK(result.tensor_digests == readback.tensor_digests);
      CHECK_FALSE(verification.image().empty());
      CHECK(result.digest_time_s > 0);
      CHECK(result.digest_time_s <= result.duration_s);
      CHECK((result.digest_kernel_time_s > 0) == !device.is_host_memory());
      CHECK(verification.finish().mismatch_count == 0);
    }
  }
}

TEST_CASE_FIXTURE(VerificationFixture,
                  "damage after the verdict is found by the next one and narrowed down") {
  constexpr std::size_t large = 10;
  test::DeviceLoader loader(device, staged(65'536));
  Verification verification(model, plan, arenas, reference(true));
  loader.load(model, layout, arena, &verification);
  CHECK(verification.finish().mismatch_count == 0);
  const std::uint64_t place = layout.placements[large].device_offset + 5 * block_bytes + 77;
  flip(place);
  const VerifyResult result = verification.finish();
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].tensor == tensors[large].name);
  CHECK(result.mismatches[0].device_offset == place);
  CHECK(result.mismatches[0].size_bytes == 1);
  CHECK(result.mismatches[0].file_offset ==
        model.tensors()[large].file_offset + 5 * block_bytes + 77);
}

TEST_CASE("digests of slots are found by the offsets that were issued, wrong ones are missed") {
  const test::TemporaryFolder folder;
  const std::vector<test::SmallTensor> tensors{{"a", test::random_bytes(40'000, 1)},
                                               {"b", test::random_bytes(100, 2)}};
  const ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  const load::BlockMap blocks(model);
  const ArenaLayout layout = lay_out(model);
  const auto arena = test::expected_arena(tensors);
  for (const std::uint64_t error : {0u, 1u}) {
    load::SlotDigests slots(model, blocks);
    load::for_each_piece(model, layout, {0, layout.arena_bytes}, [&](load::Piece piece) {
      if (piece.in_file.size_bytes == 100)
        piece.in_file.offset += error;  // a wrong read of tensor b
      slots.on_part(std::span(arena).subspan(piece.chunk_offset, piece.in_file.size_bytes), piece);
    });
    const auto digests = slots.digests();
    REQUIRE(digests.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) CHECK(digests[i] != 0);
    CHECK((digests[3] != 0) == (error == 0));
  }
}

TEST_CASE("digests of slots do not depend on the steps and the order in which they were read") {
  const test::TemporaryFolder folder;
  const std::vector<test::SmallTensor> tensors{{"a", test::random_bytes(2 * block_bytes, 1)},
                                               {"b", test::random_bytes(3 * block_bytes + 8, 2)},
                                               {"c", test::random_bytes(block_bytes, 3)}};
  const ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  const load::BlockMap blocks(model);
  std::vector<std::uint64_t> expected;
  std::vector<std::pair<std::span<const std::byte>, load::Piece>> steps;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const std::byte> bytes(tensors[i].bytes);
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
      const auto step = bytes.subspan(at, std::min<std::size_t>(block_bytes, bytes.size() - at));
      expected.push_back(load::block_digest(step));
      steps.push_back({step, {0, {model.tensors()[i].file_offset + at, step.size()}, 0}});
    }
  }
  load::SlotDigests in_order(model, blocks);
  for (const auto& [bytes, piece] : steps) in_order.on_part(bytes, piece);
  CHECK(std::ranges::equal(in_order.digests(), expected));
  load::SlotDigests backwards(model, blocks);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    backwards.on_part(step->first, step->second);
  }
  CHECK(std::ranges::equal(backwards.digests(), expected));
  load::SlotDigests by_threads(model, blocks);
  std::vector<std::jthread> threads;
  for (std::size_t first = 0; first < 2; ++first) {
    threads.emplace_back([&, first] {
      for (std::size_t i = first; i < steps.size(); i += 2) {
        by_threads.on_part(steps[i].first, steps[i].second);
      }
    });
  }
  threads.clear();
  CHECK(std::ranges::equal(by_threads.digests(), expected));
}

TEST_CASE_FIXTURE(VerificationFixture,
                  "slots that cannot hold blocks are refused where they are the reference") {
  test::DeviceLoader loader(device, staged(20'000));
  Verification by_slots(model, plan, arenas, nullptr);
  CHECK_THROWS_AS(loader.load(model, layout, arena, &by_slots), Error);
  Verification by_file(model, plan, arenas, reference(true));
  loader.load(model, layout, arena, &by_file);
  CHECK(by_file.finish().mismatch_count == 0);
}

TEST_CASE_FIXTURE(VerificationFixture,
                  "blocks that no slot had are differences, though the bytes are right") {
  test::DeviceLoader loader(device, staged(65'536));
  Verification verification(model, plan, arenas, nullptr);
  loader.load(model, layout, arena);
  const VerifyResult result = verification.finish();
  CHECK(result.blocks > 0);
  CHECK(result.mismatch_count == result.blocks);
}

TEST_CASE_FIXTURE(VerificationFixture,
                  "a part of the model is verified by itself and has no digest of all") {
  const std::vector<std::uint32_t> chosen{10, 5};
  plan = test::plan_of_one(device, lay_out(model, chosen));
  const ArenaLayout& part = plan.devices[0].layout;
  for (const bool reads_twice : {true, false}) {
    test::DeviceLoader loader(device, staged(65'536));
    Verification verification(model, plan, arenas, reference(reads_twice));
    loader.load(model, part, arena, &verification);
    const VerifyResult result = verification.finish();
    CHECK(result.mismatch_count == 0);
    CHECK(result.compared_bytes == part.tensor_bytes);
    CHECK(result.model_digest == 0);
    CHECK(result.tensor_digests[10] != 0);
    CHECK(result.tensor_digests[11] == 0);
  }
}

TEST_CASE_FIXTURE(VerificationFixture, "a file that changed is named before a device is") {
  test::DeviceLoader loader(device, staged(65'536));
  Verification verification(model, plan, arenas, nullptr);
  loader.load(model, layout, arena, &verification);
  flip(layout.placements[10].device_offset);
  CHECK(verification.finish().mismatch_count == 1);
  std::ofstream(path, std::ios::app) << "x";
  CHECK(test::code_of([&] { verification.finish(); }) == ErrorCode::input_failed);
}

TEST_CASE_FIXTURE(VerificationFixture, "a verification that is given up ends at once and quietly") {
  for (const bool reads_twice : {true, false}) {
    const Verification verification(model, plan, arenas, reference(reads_twice));
  }
  CancelToken cancel;
  cancel.cancel();
  VerifyOptions options;
  options.cancel = &cancel;
  Verification verification(model, plan, arenas, reference(true), options);
  CHECK_THROWS_AS(verification.finish(), Error);
}

TEST_CASE_FIXTURE(VerificationFixture,
                  "the self-test catches and names all five faults and mends them") {
  test::DeviceLoader loader(device, staged(65'536));
  Verification verification(model, plan, arenas, reference(true));
  loader.load(model, layout, arena, &verification);
  CHECK(verification.finish().mismatch_count == 0);
  // All of them are found by finish(), which also judges a load. `late` arrives when the right
  // bytes are there: a list of digests made as they arrived would still agree.
  const auto results = run_self_test(model, plan, arenas, verification);
  std::set<std::string> faults;
  for (const FaultResult& result : results) {
    CAPTURE(to_string(result.fault));
    CHECK(result.is_caught);
    CHECK(model.find(result.tensor) != nullptr);
    faults.insert(std::string(to_string(result.fault)));
  }
  CHECK(faults == std::set<std::string>{"drop", "flip", "late", "shift", "swap"});
  CHECK(verify_readback(model, layout, arena).mismatch_count == 0);
}

TEST_CASE("the self-test refuses models that cannot show the faults") {
  const test::TemporaryFolder folder;
  Platforms platforms;
  const Device device = test::device(platforms);
  const std::vector<std::byte> zeros(100'000);
  const std::map<std::string, std::vector<test::SmallTensor>> models{
      {"tiny", {{"a", test::random_bytes(7, 1)}}}, {"constant", {{"a", zeros}, {"b", zeros}}}};
  for (const auto& [name, tensors] : models) {
    const ModelFile model = ModelFile::open(test::write_small_model(folder.path() / name, tensors));
    const LoadPlan plan = plan_load(model, std::span(&device, 1));
    Transfer loader(model, plan);
    const auto arenas = loader.allocate();
    Verification verification(model, plan, arenas, std::make_shared<FileDigests>(model));
    loader.load(arenas, &verification);
    verification.finish();
    CHECK_THROWS_AS(run_self_test(model, plan, arenas, verification), Error);
  }
}
