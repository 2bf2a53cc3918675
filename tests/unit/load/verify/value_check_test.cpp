// SPDX-License-Identifier: MIT
#include "load/verify/value_check.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <set>

#include "hiptool/error.hpp"
#include "load/transfer/transfer.hpp"
#include "small_model.hpp"
#include "support.hpp"
#include "unit/load/device_loader.hpp"
#include "unit/load/watched_device.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

template <class Word>
void plant(test::SmallTensor& tensor, std::size_t index, Word word) {
  std::memcpy(tensor.bytes.data() + index * sizeof word, &word, sizeof word);
}

// Four tensors: a large F16 of several tiles, I32, BF16 and an empty F32; all zero.
struct ValueCheckFixture {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors{
      {"large", std::vector<std::byte>(5'000'002), "F16", 2},
      {"whole", std::vector<std::byte>(4000, std::byte{0xFF}), "I32", 4},
      {"small", std::vector<std::byte>(34), "BF16", 2},
      {"empty", {}, "F32", 4}};
  Platforms platforms;
  Device device = test::device(platforms);
  std::optional<ModelFile> model;
  ArenaLayout layout;
  Buffer arena;

  void load() {
    model = ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
    layout = lay_out(*model);
    arena = Buffer(device, layout.arena_bytes);
    test::DeviceLoader(device).load(*model, layout, arena);
  }
};

ValueCheckResult values_in(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena) {
  ValueCheckResult result;
  check_values(model, layout, arena, {}, result);
  return result;
}

}  // namespace

TEST_CASE_FIXTURE(ValueCheckFixture,
                  "a clean model has no findings and reports the number of checked values") {
  load();
  const ValueCheckResult result = values_in(*model, layout, arena);
  CHECK(result.checked == 2'500'001 + 17);
  CHECK(result.nan == 0);
  CHECK(result.infinite == 0);
  CHECK(result.findings.empty());
  CHECK(result.skipped_tensors == 1);
}

TEST_CASE_FIXTURE(ValueCheckFixture, "values are found at both ends and across tiles") {
  plant<std::uint16_t>(tensors[0], 2'500'000, 0xFE00);  // the last element, behind whole pieces
  plant<std::uint16_t>(tensors[0], 1'600'001, 0x7C01);
  plant<std::uint16_t>(tensors[0], 1'600'000, 0xFC00);
  plant<std::uint16_t>(tensors[2], 0, 0x7F80);
  load();
  const ValueCheckResult result = values_in(*model, layout, arena);
  CHECK(result.nan == 2);
  CHECK(result.infinite == 2);
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].tensor == 0);
  CHECK(result.findings[0].nan == 2);
  CHECK(result.findings[0].infinite == 1);
  CHECK(result.findings[0].first_offset == 3'200'000);
  CHECK(result.findings[1].tensor == 2);
  CHECK(result.findings[1].infinite == 1);
  CHECK(result.findings[1].first_offset == 0);
}

TEST_CASE_FIXTURE(ValueCheckFixture, "tensors of zeros alone are named, whatever their type") {
  using Indices = std::vector<std::uint32_t>;
  load();
  CHECK(values_in(*model, layout, arena).zero_tensors == Indices{0, 2});  // 3 has no bytes
  plant<std::uint8_t>(tensors[0], 5'000'001, 1);                          // the last byte
  tensors[1].bytes.assign(4000, std::byte{0});
  load();
  ValueCheckResult result;
  result.zero_tensors = {0};  // of another device
  check_values(*model, layout, arena, {}, result);
  CHECK(result.zero_tensors == Indices{0, 1, 2});
}

TEST_CASE_FIXTURE(ValueCheckFixture, "values at the borders of tiles are found") {
  for (const std::size_t index : {524'287u, 524'288u, 1'048'575u, 1'048'576u, 2'097'152u}) {
    plant<std::uint16_t>(tensors[0], index, 0x7E00);
  }
  load();
  CHECK(values_in(*model, layout, arena).nan == 5);
}

TEST_CASE_FIXTURE(ValueCheckFixture, "more tensors than one launch checks") {
  tensors.clear();
  for (int i = 0; i < 64 * 64 + 10; ++i) {
    tensors.push_back({"t" + std::to_string(i), std::vector<std::byte>(4), "F32", 4});
  }
  plant<std::uint32_t>(tensors.back(), 0, 0xFF800000);
  load();
  const ValueCheckResult result = values_in(*model, layout, arena);
  CHECK(result.checked == tensors.size());
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].tensor == tensors.size() - 1);
}

TEST_CASE_FIXTURE(ValueCheckFixture, "only tensors in the layout are checked, and parts add up") {
  plant<std::uint16_t>(tensors[0], 5, 0x7C00);
  plant<std::uint16_t>(tensors[2], 3, 0x7FC0);
  load();
  ArenaLayout one = layout;
  ArenaLayout other = layout;
  one.placements = {layout.placements[0]};
  other.placements = {layout.placements.begin() + 1, layout.placements.end()};
  one.tensor_bytes = model->tensors()[layout.placements[0].tensor].size_bytes;
  other.tensor_bytes -= one.tensor_bytes;
  ValueCheckResult sum = values_in(*model, other, arena);
  CHECK(sum.findings.size() == 1);
  CHECK(sum.findings.front().tensor == 2);
  check_values(*model, one, arena, {}, sum);
  const ValueCheckResult whole = values_in(*model, layout, arena);
  CHECK(sum.checked == whole.checked);
  CHECK(sum.nan == 1);
  CHECK(sum.infinite == 1);
  CHECK(sum.skipped_tensors == whole.skipped_tensors);
  REQUIRE(sum.findings.size() == 2);
  CHECK(sum.findings[0].tensor == 0);
  CHECK(sum.findings[1].tensor == 2);
}

TEST_CASE_FIXTURE(ValueCheckFixture, "a cancelled check of values is an error") {
  load();
  CancelToken cancel;
  cancel.cancel();
  ValueCheckResult found;
  CHECK(test::code_of([&] {
          check_values(*model, layout, arena, {&cancel, {}}, found);
        }) == ErrorCode::cancelled);
  CHECK(found.checked == 0);
}

TEST_CASE_FIXTURE(ValueCheckFixture,
                  "a check that is cancelled between launches keeps its findings") {
  tensors.clear();
  for (int i = 0; i < 64 * 64 + 10; ++i) {
    tensors.push_back(
        {"t" + std::to_string(i), std::vector<std::byte>(4, std::byte{0xFF}), "F32", 4});
  }
  test::WatchedDevice watched;
  device = watched.device;
  load();
  CancelToken cancel;
  watched.table.run_before("hipModuleLaunchKernel", [&cancel] { cancel.cancel(); });
  ValueCheckResult found;
  CHECK(test::code_of([&] {
          check_values(*model, layout, arena, {&cancel, {}}, found);
        }) == ErrorCode::cancelled);
  CHECK(found.checked >= 64);
  CHECK((found.checked < tensors.size() || !device.is_host_memory()));
  CHECK(found.nan == found.checked);
  CHECK(found.findings.size() == found.checked);
  arena = {};  // before its device
}

TEST_CASE_FIXTURE(ValueCheckFixture, "whichever call fails, it is reported and nothing leaks") {
  plant<std::uint16_t>(tensors[0], 7, 0x7E00);
  test::WatchedDevice watched;
  test::WrapperTable& table = watched.table;
  const ModelFile file =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  const ArenaLayout places = lay_out(file);
  const Buffer memory(watched.device, places.arena_bytes);
  test::DeviceLoader(watched.device).load(file, places, memory);
  const auto live = [&table] {
    const test::LiveCounts counts = table.live();
    return std::array{counts.device_memory, counts.host_memory, counts.registrations,
                      counts.streams,       counts.events,      counts.modules};
  };
  const auto before = live();
  table.reset();
  CHECK(values_in(file, places, memory).nan == 1);
  const auto trace = table.trace();
  const std::set<std::string_view> calls(trace.begin(), trace.end());
  CHECK(calls.count("hipModuleLaunchKernel") == 1);
  int failed = 0;
  for (const std::string_view call : calls) {
    for (const std::uint64_t nth : {1u, 2u, 3u}) {
      CAPTURE(std::string(call));
      CAPTURE(nth);
      table.reset();
      table.fail(call, hip::hipErrorUnknown, nth);
      try {
        const ValueCheckResult result = values_in(file, places, memory);
        CHECK(result.nan == 1);
      } catch (const Error& error) {
        ++failed;
        CHECK(error.code() != ErrorCode::internal);
      }
      CHECK((live() == before));
    }
  }
  CHECK(failed > 10);
}
