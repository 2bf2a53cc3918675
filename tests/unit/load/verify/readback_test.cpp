// SPDX-License-Identifier: MIT
#include "load/verify/readback.hpp"

#include <doctest/doctest.h>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

struct ReadbackFixture : test::ModelFixture {
  Buffer arena{device, layout.arena_bytes};

  ReadbackFixture() { copy_h2d_and_wait(arena, test::expected_arena(tensors)); }

  std::uint64_t device_offset(std::size_t tensor) const {
    return layout.placements[tensor].device_offset;
  }
  void flip(std::uint64_t device_offset) const {
    Buffer byte = arena.view(device_offset, 1);
    std::byte value[1];
    copy_d2h_and_wait(value, byte);
    value[0] ^= std::byte{0x40};
    copy_h2d_and_wait(byte, value);
  }
};

constexpr std::size_t large_tensor = 10;  // index of the tensor of 1 000 003 bytes

}  // namespace

TEST_CASE_FIXTURE(ReadbackFixture, "equal bytes have no mismatch") {
  const VerifyResult result = verify_readback(model, layout, arena);
  CHECK(result.mismatches.empty());
  CHECK(result.mismatch_count == 0);
  CHECK(result.compared_bytes == layout.tensor_bytes);
  std::uint64_t blocks = 0;
  for (const auto& tensor : tensors)
    blocks += (tensor.bytes.size() + block_bytes - 1) / block_bytes;
  CHECK(result.blocks == blocks);
}

TEST_CASE_FIXTURE(ReadbackFixture, "one flipped bit is found and named, at every kind of offset") {
  const std::uint64_t size = tensors[large_tensor].bytes.size();
  for (const std::uint64_t offset : {std::uint64_t{0}, block_bytes - 1, block_bytes, size - 1}) {
    CAPTURE(offset);
    flip(device_offset(large_tensor) + offset);
    const VerifyResult result = verify_readback(model, layout, arena);
    REQUIRE(result.mismatches.size() == 1);
    const Mismatch& mismatch = result.mismatches.front();
    CHECK(mismatch.tensor == tensors[large_tensor].name);
    CHECK(mismatch.device_offset == device_offset(large_tensor) + offset);
    CHECK(mismatch.file_offset == model.tensors()[large_tensor].file_offset + offset);
    CHECK(mismatch.size_bytes == 1);
    CHECK(result.mismatch_count == 1);
    flip(device_offset(large_tensor) + offset);
  }
  flip(device_offset(0));  // a tensor of one byte
  CHECK(verify_readback(model, layout, arena).mismatches.front().tensor == tensors[0].name);
}

TEST_CASE_FIXTURE(ReadbackFixture, "neighbouring blocks are one run, others stay apart") {
  const Stream stream(device);
  fill(arena.view(device_offset(large_tensor) + 100, 3 * block_bytes), std::byte{0}, stream);
  stream.synchronize();
  flip(device_offset(large_tensor) + 20 * block_bytes + 5);
  flip(device_offset(2));
  const VerifyResult result = verify_readback(model, layout, arena);
  REQUIRE(result.mismatches.size() == 3);
  CHECK(result.mismatches[0].tensor == tensors[2].name);
  CHECK(result.mismatches[1].device_offset <= device_offset(large_tensor) + 110);
  CHECK(result.mismatches[1].size_bytes > 3 * block_bytes - 200);
  CHECK(result.mismatches[1].size_bytes <= 3 * block_bytes);
  CHECK(result.mismatches[2].file_offset ==
        model.tensors()[large_tensor].file_offset + 20 * block_bytes + 5);
  CHECK(result.mismatch_count == 4 + 1 + 1);
}

TEST_CASE_FIXTURE(ReadbackFixture, "bytes in the gaps belong to no tensor") {
  flip(device_offset(1) == device_offset(2) ? device_offset(0) + 1 : device_offset(1) - 1);
  CHECK(verify_readback(model, layout, arena).mismatches.empty());
}

TEST_CASE_FIXTURE(ReadbackFixture, "the list of mismatches is bounded, their number is not") {
  const Stream stream(device);
  std::vector<test::SmallTensor> many;
  for (int i = 0; i < 200; ++i) {
    many.push_back({"t" + std::to_string(i), test::random_bytes(64, 100 + std::uint64_t(i))});
  }
  const ModelFile other =
      ModelFile::open(test::write_small_model(folder.path() / "n.safetensors", many));
  const ArenaLayout other_layout = lay_out(other);
  Buffer zeros(device, other_layout.arena_bytes);
  fill(zeros, std::byte{0}, stream);
  stream.synchronize();
  const VerifyResult result = verify_readback(other, other_layout, zeros);
  CHECK(result.mismatches.size() == max_mismatches);
  CHECK(result.mismatch_count == 200);
}

TEST_CASE_FIXTURE(ReadbackFixture, "digests depend on contents and names, not on threads") {
  VerifyOptions one;
  one.threads = 1;
  VerifyOptions many;
  many.threads = 5;
  const VerifyResult first = verify_readback(model, layout, arena, one);
  const VerifyResult second = verify_readback(model, layout, arena, many);
  CHECK(first.model_digest == second.model_digest);
  CHECK(first.tensor_digests == second.tensor_digests);

  auto renamed = tensors;
  renamed[4].name += "x";
  const ModelFile other =
      ModelFile::open(test::write_small_model(folder.path() / "r.safetensors", renamed));
  const VerifyResult third = verify_readback(other, lay_out(other), arena);
  CHECK(third.tensor_digests == first.tensor_digests);
  CHECK(third.model_digest != first.model_digest);
}

TEST_CASE("digests of blocks are XXH3-64 as published") {
  // xxHash 0.8 test vectors: XXH3_64bits("") and ("abc"), seed 0.
  CHECK(load::block_digest({}) == 0x2D06800538D394C2u);
  const std::string abc = "abc";
  CHECK(load::block_digest(std::as_bytes(std::span(abc))) == 0x78AF5F94892F3950u);
}

TEST_CASE_FIXTURE(ReadbackFixture,
                  "verification can be cancelled and a vanished file is an error") {
  CancelToken cancel;
  cancel.cancel();
  VerifyOptions options;
  options.cancel = &cancel;
  CHECK_THROWS_AS(verify_readback(model, layout, arena, options), Error);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(verify_readback(model, layout, arena), Error);
}
