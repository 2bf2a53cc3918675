// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_rows.hpp"
#include "reference/ops/values.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::RopeOptions;

namespace {

using Pairs = std::vector<std::pair<std::size_t, double>>;

/// Frequencies that transformers 5.23.0 (modeling_rope_utils.py) computes in f32.
void check_frequencies(const RopeOptions& options, const Pairs& expected) {
  const std::vector<double> found = ops::rope_frequencies(options);
  REQUIRE(found.size() == options.rotary / 2);
  for (const auto& pair : expected) {
    CAPTURE(pair.first);
    CHECK(std::fabs(found[pair.first] - pair.second) <= 1e-6 * pair.second);
  }
}

/// Cosines (or sines) of position times frequency, times the magnitude, [positions, frequencies].
/// The slack is half a unit of the result, and the rounding of the angle to f64.
reference::Expected rope_table(const std::vector<double>& frequencies,
                               const std::vector<std::uint64_t>& positions, double magnitude,
                               bool is_sine) {
  reference::Expected expected{{{positions.size(), frequencies.size()}, {}}, {}};
  for (const std::uint64_t position : positions) {
    for (const double frequency : frequencies) {
      const long double angle = static_cast<long double>(position) * frequency;
      const long double value =
          (is_sine ? std::sin(angle) : std::cos(angle)) * static_cast<long double>(magnitude);
      expected.values.at.push_back(value);
      expected.slack.push_back(reference::ulp_of(DType::f32, value) * 0.501L +
                               std::fabs(angle * magnitude) * 0x1p-53L);
    }
  }
  return expected;
}

}  // namespace

TEST_CASE("frequencies of rope are those of transformers") {
  SUBCASE("none") {
    check_frequencies({.rotary = 4, .base = 10000}, {{0, 1}, {1, 0.01}});
    CHECK(ops::rope_frequencies({}).empty());
  }
  SUBCASE("llama3") {
    RopeOptions options{.rotary = 64, .base = 500000};
    options.llama3 = RopeOptions::Llama3{.factor = 32};
    check_frequencies(options, {{0, 1},
                                {1, 0.663601279},
                                {8, 0.0376060307},
                                {12, 0.00729266508},
                                {16, 0.000429556705},
                                {20, 8.57025589e-06},
                                {24, 1.66196742e-06},
                                {31, 9.41830649e-08}});
  }
  SUBCASE("yarn") {
    RopeOptions options{.rotary = 128};
    options.yarn = RopeOptions::Yarn{.factor = 4, .original_context = 4096};
    check_frequencies(options, {{0, 1},
                                {1, 0.865964353},
                                {16, 0.100000001},
                                {24, 0.0279739965},
                                {32, 0.00653846189},
                                {40, 0.00133788679},
                                {48, 0.000250000012},
                                {63, 2.88695483e-05}});
    options = {.rotary = 64, .base = 1e6};
    options.yarn = RopeOptions::Yarn{4, 32768, 16, 2};
    check_frequencies(options, {{1, 0.649381638},
                                {12, 0.00562341325},
                                {16, 0.000625000044},
                                {20, 4.44569851e-05},
                                {31, 3.84981632e-07}});
    CHECK(ops::yarn_magnitude(4) == doctest::Approx(1.138629436111989).epsilon(1e-15));
    CHECK(ops::yarn_magnitude(1) == 1);
  }
  SUBCASE("linear") {
    check_frequencies({.rotary = 32, .linear_factor = 8},
                      {{0, 0.125}, {1, 0.0702926666}, {6, 0.00395284733}, {15, 2.22284925e-05}});
  }
  SUBCASE("longrope") {
    check_frequencies({.rotary = 8, .factors = {1, 2, 4, 8}},
                      {{0, 1}, {1, 0.05}, {2, 0.0025}, {3, 0.000125}});
    CHECK(ops::longrope_magnitude(32, 4096) == doctest::Approx(1.1902380714238083).epsilon(1e-15));
    CHECK(ops::longrope_magnitude(1, 4096) == 1);
  }
}

TEST_CASE("options of rope that cannot be are refused") {
  CHECK_THROWS_WITH_AS(ops::rope_frequencies({.rotary = 7}),
                       doctest::Contains("7 elements are no pairs"), Error);
  CHECK_THROWS_WITH_AS(ops::rope_frequencies({.rotary = 8, .factors = {1, 2, 3}}),
                       doctest::Contains("3 factors for 4 pairs"), Error);
  CHECK_THROWS_AS(ops::rope_frequencies({.rotary = 8, .base = 0}), Error);
  CHECK_THROWS_AS(ops::rope_frequencies({.rotary = 2, .factors = {0}}), Error);
  CHECK_THROWS_AS(ops::rope_frequencies({.rotary = 8, .linear_factor = std::nan("")}), Error);
  RopeOptions both{.rotary = 8, .linear_factor = 2};
  both.yarn = RopeOptions::Yarn{.factor = 4, .original_context = 4096};
  CHECK_THROWS_WITH_AS(ops::rope_frequencies(both), doctest::Contains("more than one of"), Error);
  both.linear_factor = 1;
  both.yarn->original_context = 0;
  CHECK_THROWS_AS(ops::rope_frequencies(both), Error);
  both.yarn.reset();
  both.llama3 = RopeOptions::Llama3{.high_frequency_factor = 1};
  CHECK_THROWS_AS(ops::rope_frequencies(both), Error);
}

TEST_CASE("tables of rope at any position") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  std::vector<double> numbers = ops::rope_frequencies({.rotary = 22, .base = 500000});
  const Tensor frequencies = Tensor::from_host(memory, numbers, {11});
  for (const double magnitude : {1.0, 1.1902380714238083}) {
    const std::vector<std::uint64_t> positions{0, 1, 77, 131071, 4294967295};
    const Tensor list = Tensor::from_host(
        memory, std::vector<std::uint32_t>(positions.begin(), positions.end()), {5});
    const ops::RopeTables tables = ops::rope_tables(backend, frequencies, list, magnitude);
    test::check_result(DType::f32, test::read(backend, tables.cosines),
                       rope_table(numbers, positions, magnitude, false));
    test::check_result(DType::f32, test::read(backend, tables.sines),
                       rope_table(numbers, positions, magnitude, true));
  }
  const std::vector<std::uint64_t> neighbours{131070, 131071, 131072};
  const ops::RopeTables tables = ops::rope_tables(backend, frequencies, 131070, 3);
  test::check_result(DType::f32, test::read(backend, tables.sines),
                     rope_table(numbers, neighbours, 1, true));
  // Views of the list and of the frequencies.
  const Tensor wide = Tensor::from_host(memory, std::vector<std::uint32_t>{5, 9, 6, 9}, {4});
  const Tensor every_second = wide.with_layout(
      Layout::strided(std::vector<std::uint64_t>{2}, std::vector<std::uint64_t>{2}));
  const Tensor some = frequencies.with_layout(
      Layout::strided(std::vector<std::uint64_t>{5}, std::vector<std::uint64_t>{2}, 1));
  const std::vector<double> chosen{numbers[1], numbers[3], numbers[5], numbers[7], numbers[9]};
  test::check_result(DType::f32,
                     test::read(backend, ops::rope_tables(backend, some, every_second).cosines),
                     rope_table(chosen, {5, 6}, 1, false));
  CHECK(ops::rope_tables(backend, frequencies, 3, 0).sines.element_count() == 0);
  CHECK_THROWS_WITH_AS(ops::rope_tables(backend, backend.empty(DType::f32, {3}), 0, 1),
                       doctest::Contains("frequencies are f64 [pairs], not f32[3]"), Error);
  CHECK_THROWS_AS(ops::rope_tables(backend, frequencies, frequencies), Error);
}

TEST_CASE("heads rotated by tables keep products of the same distance") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  const Tensor frequencies = Tensor::from_host(memory, ops::rope_frequencies({.rotary = 12}), {6});
  // The last four elements of 16 are not rotated.
  std::vector<float> head;
  for (int i = 0; i < 16; ++i) head.push_back(0.25f * static_cast<float>(i % 7) - 0.5f);
  std::vector<float> twice = head;
  twice.insert(twice.end(), head.begin(), head.end());
  const Tensor x = Tensor::from_host(memory, twice, {2, 1, 16});
  for (const auto pairs : {RopePairs::neighbours, RopePairs::halves}) {
    std::vector<double> products;
    for (const std::uint32_t first : {0u, 40u, 1000u}) {
      const Tensor positions =
          Tensor::from_host(memory, std::vector<std::uint32_t>{first, first + 9}, {2});
      const ops::RopeTables tables = ops::rope_tables(backend, frequencies, positions);
      const auto turned = ops::rope(backend, x, tables.cosines, tables.sines, pairs)
                              .to_host<float>(backend.stream());
      double product = 0;
      for (std::size_t i = 0; i < 16; ++i) {
        product += static_cast<double>(turned[i]) * static_cast<double>(turned[16 + i]);
        if (i >= 12) CHECK(turned[i] == head[i]);
      }
      products.push_back(product);
    }
    CHECK(products[1] == doctest::Approx(products[0]).epsilon(1e-6));
    CHECK(products[2] == doctest::Approx(products[0]).epsilon(1e-6));
  }
}
