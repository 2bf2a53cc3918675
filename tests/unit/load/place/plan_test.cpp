// SPDX-License-Identifier: MIT
#include "hiptool/load_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "hiptool/error.hpp"
#include "load/layout/pieces.hpp"
#include "small_model.hpp"

using namespace hiptool;

using PlanFixture = test::ModelFixture;

TEST_CASE_FIXTURE(PlanFixture, "tensors are in file order at multiples of 256 bytes") {
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

TEST_CASE_FIXTURE(PlanFixture, "pieces of any range equal those found byte by byte") {
  // owner[i] is the file offset of arena byte i, -1 in a gap
  std::vector<std::int64_t> owner(layout.arena_bytes, -1);
  for (const Placement& placement : layout.placements) {
    const TensorInfo& tensor = model.tensors()[placement.tensor];
    for (std::uint64_t i = 0; i < tensor.size_bytes; ++i) {
      owner[placement.device_offset + i] = static_cast<std::int64_t>(tensor.file_offset + i);
    }
  }
  std::mt19937_64 random(3);
  for (int round = 0; round < (test::is_sanitized ? 60 : 300); ++round) {
    const std::uint64_t begin = random() % layout.arena_bytes;
    const std::uint64_t end = begin + random() % (layout.arena_bytes - begin) % 70'000;
    std::vector<std::int64_t> found(end - begin, -1);
    load::for_each_piece(model, layout, {begin, end - begin}, [&](const load::Piece& piece) {
      CHECK(piece.in_file.size_bytes > 0);
      for (std::uint64_t i = 0; i < piece.in_file.size_bytes; ++i) {
        found.at(piece.chunk_offset + i) = static_cast<std::int64_t>(piece.in_file.offset + i);
      }
    });
    const auto first = owner.begin() + static_cast<std::ptrdiff_t>(begin);
    REQUIRE(std::equal(found.begin(), found.end(), first));
  }
}

namespace {

// Four devices and a model with layers in a strange order.
struct Four : test::ModelFixture {
  Four() {
    Platforms::Options options;
    options.cpu_devices = 4;
    four = std::make_unique<Platforms>(options);
    devices = four->devices(Platform::cpu);
  }
  std::vector<std::uint32_t> tensors_on(const LoadPlan& plan, std::size_t index) const {
    std::vector<std::uint32_t> found;
    for (const Placement& placement : plan.devices[index].layout.placements) {
      found.push_back(placement.tensor);
    }
    return found;
  }
  void check_sound(const LoadPlan& plan) const {
    REQUIRE(plan.devices.size() == devices.size());
    std::vector<int> times(model.tensors().size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const DevicePlan& part = plan.devices[i];
      CHECK(part.device == devices[i]);
      std::uint64_t end = 0;
      std::uint64_t bytes = 0;
      for (const Placement& placement : part.layout.placements) {
        ++times.at(placement.tensor);
        CHECK(placement.device_offset % tensor_alignment_bytes == 0);
        CHECK(placement.device_offset >= end);
        CHECK(placement.device_offset < end + tensor_alignment_bytes);
        end = placement.device_offset + model.tensors()[placement.tensor].size_bytes;
        bytes += model.tensors()[placement.tensor].size_bytes;
      }
      CHECK(part.layout.arena_bytes == end);
      CHECK(part.layout.tensor_bytes == bytes);
      const auto order = tensors_on(plan, i);
      CHECK(std::is_sorted(order.begin(), order.end()));
    }
    const int wanted = plan.split == SplitKind::replicate ? static_cast<int>(devices.size()) : 1;
    CHECK(std::count(times.begin(), times.end(), wanted) ==
          static_cast<std::ptrdiff_t>(times.size()));
  }
  std::vector<DeviceMemory> memory_for(const std::vector<std::uint64_t>& bytes) const {
    std::vector<DeviceMemory> memory;
    for (const std::uint64_t free : bytes) memory.push_back({"cpu:0", free, free, true});
    return memory;
  }

  std::unique_ptr<Platforms> four;
  std::vector<Device> devices;
};

bool has(const Error& error, const std::string& part) {
  return (std::string(error.what()) + " | " + error.hint()).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Four, "every tensor has one place, or one on each device, whatever the split") {
  std::mt19937_64 random(9);
  for (int round = 0; round < 100; ++round) {
    for (const SplitKind kind :
         {SplitKind::bytes, SplitKind::layer, SplitKind::proportions, SplitKind::replicate}) {
      LoadSplit split{kind, {}};
      if (kind == SplitKind::proportions) {
        for (std::size_t i = 0; i < devices.size(); ++i) {
          split.proportions.push_back(0.001 + static_cast<double>(random() % 100));
        }
      }
      std::vector<std::uint64_t> free;
      for (std::size_t i = 0; i < devices.size(); ++i) free.push_back(random() % 1'500'000);
      const LoadPlan plan = round % 2 == 0 ? plan_load(model, devices, split)
                                           : plan_load(model, devices, split, memory_for(free));
      check_sound(plan);
      CHECK(plan.split == kind);
      CHECK(plan.warnings.empty());
    }
  }
}

TEST_CASE_FIXTURE(Four, "one device gets the whole model in file order, by any split") {
  const auto one = std::span(devices).first(1);
  for (const SplitKind kind : {SplitKind::bytes, SplitKind::layer, SplitKind::replicate}) {
    const LoadPlan plan = plan_load(model, one, {kind, {}});
    REQUIRE(plan.devices.size() == 1);
    CHECK(plan.devices[0].layout.arena_bytes == layout.arena_bytes);
    CHECK(tensors_on(plan, 0).size() == model.tensors().size());
  }
}

TEST_CASE_FIXTURE(Four, "a split by bytes keeps to the free memory, to the byte") {
  // The largest tensor is the eleventh and goes where it fits.
  const std::uint64_t large = 1'000'192;  // 1 000 003, aligned
  const auto memory = memory_for({2'000'000, large - 1, large, 2'000'000});
  const LoadPlan plan = plan_load(model, devices, {}, memory);
  check_sound(plan);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    CHECK(plan.devices[i].layout.arena_bytes <= *memory[i].free_bytes);
  }
  CHECK(std::find(tensors_on(plan, 1).begin(), tensors_on(plan, 1).end(), 10u) ==
        tensors_on(plan, 1).end());
}

TEST_CASE_FIXTURE(Four, "without layers a split by layer is one by bytes, with a warning") {
  std::vector<test::SmallTensor> plain;
  for (int i = 0; i < 8; ++i) plain.push_back({"t" + std::to_string(i), test::random_bytes(99, 1)});
  const ModelFile flat =
      ModelFile::open(test::write_small_model(folder.path() / "flat.safetensors", plain));
  const LoadPlan plan = plan_load(flat, devices, {SplitKind::layer, {}});
  CHECK(plan.split == SplitKind::bytes);
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0].find("layer") != std::string::npos);
  for (const DevicePlan& part : plan.devices) CHECK(part.layout.placements.size() == 2);
}

TEST_CASE_FIXTURE(Four, "impossible plans are refused") {
  const auto refuses = [&](std::span<const Device> on, const LoadSplit& split,
                           std::span<const DeviceMemory> memory, const char* why) {
    CAPTURE(why);
    try {
      static_cast<void>(plan_load(model, on, split, memory));
      FAIL_CHECK("it was taken");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(has(error, why));
    }
  };
  const std::vector<Device> twice{devices[0], devices[1], devices[0]};
  refuses({}, {}, {}, "needs a device");
  refuses(twice, {}, {}, "cpu:0 was given twice");
  refuses(devices, {}, memory_for({1, 2}), "memory of 2 devices");
  refuses(devices, {SplitKind::proportions, {1, 2}}, {}, "2 parts for 4 devices");
  refuses(devices, {SplitKind::proportions, {1, 2, 3, 0}}, {}, "positive");
  refuses(devices, {SplitKind::proportions, {1, 2, 3, -1}}, {}, "positive");
  refuses(devices, {SplitKind::proportions, {1, 2, 3, NAN}}, {}, "positive");
  refuses(devices, {SplitKind::proportions, {1, 2, 3, INFINITY}}, {}, "positive");
  refuses(devices, {SplitKind::proportions, {1e308, 1e308, 1, 1}}, {}, "too large");
  CHECK_THROWS_AS(lay_out(model, std::vector<std::uint32_t>{99}), Error);
}
