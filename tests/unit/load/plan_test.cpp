// SPDX-License-Identifier: MIT
#include "hiptool/load_plan.hpp"

#include <doctest/doctest.h>

#include "hiptool/error.hpp"
#include "load/pieces.hpp"
#include "small_model.hpp"

using namespace hiptool;

using Fixture = test::ModelFixture;

TEST_CASE_FIXTURE(Fixture, "tensors lie in file order at multiples of 256 bytes") {
  REQUIRE(layout.placements.size() == tensors.size());
  CHECK(layout.arena_bytes == test::expected_arena(tensors).size());
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  for (const Placement& placement : layout.placements) {
    CHECK(placement.device_offset % tensor_alignment_bytes == 0);
    CHECK(placement.device_offset >= end);
    CHECK(placement.device_offset < end + tensor_alignment_bytes);
    end = placement.device_offset + model.tensors()[placement.tensor].size_bytes;
    bytes += model.tensors()[placement.tensor].size_bytes;
  }
  CHECK(layout.tensor_bytes == bytes);
}

TEST_CASE_FIXTURE(Fixture, "pieces of any range equal those found byte by byte") {
  // owner[i] is the file offset of arena byte i, -1 in a gap
  std::vector<std::int64_t> owner(layout.arena_bytes, -1);
  for (const Placement& placement : layout.placements) {
    const TensorInfo& tensor = model.tensors()[placement.tensor];
    for (std::uint64_t i = 0; i < tensor.size_bytes; ++i) {
      owner[placement.device_offset + i] = static_cast<std::int64_t>(tensor.file_offset + i);
    }
  }
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t begin = random() % layout.arena_bytes;
    const std::uint64_t end = begin + random() % (layout.arena_bytes - begin) % 70'000;
    std::vector<std::int64_t> found(end - begin, -1);
    load::for_each_piece(model, layout, begin, end, [&](const load::Piece& piece) {
      CHECK(piece.size_bytes > 0);
      for (std::uint64_t i = 0; i < piece.size_bytes; ++i) {
        found.at(piece.range_offset + i) = static_cast<std::int64_t>(piece.file_offset + i);
      }
    });
    const auto first = owner.begin() + static_cast<std::ptrdiff_t>(begin);
    REQUIRE(std::equal(found.begin(), found.end(), first));
  }
}

TEST_CASE_FIXTURE(Fixture, "a plan that does not fit is refused with the shortfall") {
  const auto devices = platforms.devices(Platform::cpu);
  LoadPlan plan = plan_load(model, std::span(devices).first(1));
  check_fit(model, plan);
  plan.devices.front().layout.arena_bytes = std::uint64_t{1} << 50;
  try {
    check_fit(model, plan);
    FAIL("a PiB fits");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK(std::string(error.what()).find("1.00 PiB") != std::string::npos);
    CHECK(std::string(error.what()).find("too little") != std::string::npos);
  }
}
