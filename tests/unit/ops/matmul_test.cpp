// SPDX-License-Identifier: MIT
#include "hiptool/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cases.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/images.hpp"
#include "ops/backend_state.hpp"
#include "ops/matmul_launch.hpp"
#include "reference/ops/matmul.hpp"
#include "reference/ops/rows.hpp"
#include "unit/core/wrapped_device.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::MatmulOptions;
using reference::Values;

namespace {

using Dims = std::vector<std::uint64_t>;

constexpr std::array matmul_dtypes{DType::f32, DType::f64, DType::f16, DType::bf16};

/// How matrices are in memory.
struct Style {
  bool is_transposed = false;
  std::uint64_t extra = 0;   // elements between rows
  std::uint64_t offset = 0;  // elements in front
};

constexpr std::array styles{
    Style{},          Style{true, 0, 0}, Style{false, 8, 8}, Style{true, 4, 16}, Style{false, 3, 1},
    Style{true, 5, 3}};

Tensor place_matrices(const Backend& backend, DType dtype, const Dims& dims, Style style) {
  const std::size_t rank = dims.size();
  const std::uint64_t rows = dims[rank - (style.is_transposed ? 1 : 2)];
  const std::uint64_t width = dims[rank - (style.is_transposed ? 2 : 1)] + style.extra;
  Dims strides(rank);
  strides[rank - 1] = style.is_transposed ? width : 1;
  strides[rank - 2] = style.is_transposed ? 1 : width;
  std::uint64_t step = rows * width;
  for (std::size_t axis = rank - 2; axis-- > 0;) {
    strides[axis] = step;
    step *= dims[axis];
  }
  Buffer buffer = backend.empty(dtype, {style.offset + step + 9}).buffer();
  fill(buffer, std::byte{0xFF}, backend.stream());
  return Tensor(buffer, dtype, Layout::strided(dims, strides, style.offset));
}

Tensor put_matrices(const Backend& backend, DType dtype, const Values& values, Style style) {
  const Tensor tensor = place_matrices(backend, dtype, values.dims, style);
  test::write(backend, tensor, values);
  return tensor;
}

/// Whole numbers from -8 to 8, or reals between.
Values factors(DType dtype, const Dims& dims, std::uint32_t seed, bool is_whole) {
  std::mt19937 random(seed);
  Values values{dims, {}};
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(random());
    values.at.push_back(is_whole ? static_cast<long double>(number % 17) - 8
                                 : (static_cast<long double>(number) * 0x1p-31L - 1) * 8);
  }
  return reference::values_of(dtype, reference::bytes_of(dtype, values), dims);
}

void check_product(const Backend& backend, DType dtype, const Tensor& x, const Values& a,
                   const Tensor& y, const Values& b, Style of_out,
                   const MatmulOptions& options = {}) {
  auto expected = reference::matmul(dtype, a, b);
  Values old;
  if (options.beta != 0 || options.alpha != 1) {
    old = factors(dtype, expected.values.dims, 99, true);
    expected = reference::matmul(dtype, a, b, options.alpha, options.beta, &old);
  }
  const auto call = [&] {
    Tensor out = place_matrices(backend, dtype, expected.values.dims, of_out);
    if (options.beta != 0) test::write(backend, out, old);
    ops::matmul_into(backend, out, x, y, options);
    return test::read(backend, out);
  };
  const auto found = call();
  test::check_result(dtype, found, expected);
  CHECK(call() == found);
}

void check_shape(const Backend& backend, DType dtype, const Dims& a_dims, const Dims& b_dims,
                 std::size_t turn, const MatmulOptions& options = {}) {
  const Values a = factors(dtype, a_dims, 1, turn % 2 == 0);
  const Values b = factors(dtype, b_dims, 2, turn % 2 == 0);
  const Style of_a = styles[turn % styles.size()];
  const Style of_b = styles[(turn / 2 + turn / 6) % styles.size()];
  const Style of_out = styles[(turn / 3) % styles.size()];
  CAPTURE(turn);
  const Tensor x = put_matrices(backend, dtype, a, of_a);
  const Tensor y = put_matrices(backend, dtype, b, of_b);
  check_product(backend, dtype, x, a, y, b, of_out, options);
  CHECK(test::read(backend, x) == reference::bytes_of(dtype, a));
  CHECK(test::read(backend, y) == reference::bytes_of(dtype, b));
}

}  // namespace

TEST_CASE("products of matrices of any size and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<std::array<std::uint64_t, 3>> sizes{
      {1, 2, 3},    {2, 1, 1},     {7, 9, 5},    {1, 300, 33}, {33, 257, 2}, {16, 8, 31},
      {64, 17, 65}, {65, 33, 127}, {129, 7, 66}, {3, 65, 257}, {257, 31, 8}, {12, 129, 40}};
  std::size_t turn = 0;
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& size : sizes) {
      const std::uint64_t m = size[0];
      const std::uint64_t k = size[1];
      const std::uint64_t n = size[2];
      CAPTURE(m);
      CAPTURE(k);
      CAPTURE(n);
      check_shape(backend, dtype, {m, k}, {k, n}, turn++);
      if (m * n < 2000) check_shape(backend, dtype, {m, k}, {k, n}, turn++);
    }
    ++turn;
  }
}

TEST_CASE("every pair of layouts of both factors") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    const Values a = factors(dtype, {20, 35}, 3, false);
    const Values b = factors(dtype, {35, 12}, 4, false);
    std::vector<std::byte> first;
    for (std::size_t i = 0; i < styles.size() * styles.size(); ++i) {
      CAPTURE(i);
      const Tensor x = put_matrices(backend, dtype, a, styles[i / styles.size()]);
      const Tensor y = put_matrices(backend, dtype, b, styles[i % styles.size()]);
      const Tensor out = ops::matmul(backend, x, y, {.exact = true});
      const auto found = test::read(backend, out);
      if (i == 0) {
        test::check_result(dtype, found, reference::matmul(dtype, a, b));
        first = found;
      }
      CHECK(found == first);
    }
  }
}

TEST_CASE("batches of matrices, some of them repeated") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  std::size_t turn = 0;
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    check_shape(backend, dtype, {2, 5, 70}, {2, 70, 9}, turn++);
    check_shape(backend, dtype, {3, 1, 6, 20}, {1, 2, 20, 10}, turn++);
    check_shape(backend, dtype, {1, 6, 20}, {4, 20, 10}, turn++);
    check_shape(backend, dtype, {4, 1, 70}, {1, 70, 10}, turn++);
    check_shape(backend, dtype, {1, 8, 20}, {3, 20, 1}, turn++);
    check_shape(backend, dtype, {1, 8, 70}, {30, 70, 1}, turn++);
    check_shape(backend, dtype, {2, 3, 2, 9, 13}, {2, 3, 2, 13, 11}, turn++);
    // Batch axes that do not collapse, and one of stride 0.
    const Values a = factors(dtype, {2, 3, 9, 10}, 5, false);
    const Values b = factors(dtype, {1, 3, 10, 12}, 6, false);
    Values turned = a;
    turned.dims = {3, 2, 9, 10};
    for (std::size_t i = 0; i < turned.at.size(); ++i) {
      turned.at[i] = a.at[(i / 90 % 2 * 3 + i / 180) * 90 + i % 90];
    }
    const Tensor memory = put_matrices(backend, dtype, turned, Style{});
    const Tensor x = memory.with_layout(memory.layout().transpose(0, 1));
    const Tensor once = put_matrices(backend, dtype, b, Style{true, 1, 0});
    const Tensor y = once.with_layout(once.layout().broadcast_to({2, 3, 10, 12}));
    check_product(backend, dtype, x, a, y, b, Style{false, 2, 0});
    // More rows than by the shape, where a batch of vectors is multiplied by one matrix.
    const Values vectors = factors(dtype, {20, 1, 70}, 7, false);
    const Values matrix = factors(dtype, {1, 70, 10}, 8, false);
    const Tensor many = put_matrices(backend, dtype, vectors, Style{});
    const Tensor one = put_matrices(backend, dtype, matrix, Style{});
    const Tensor wide = one.with_layout(one.layout().broadcast_to({20, 70, 10}));
    check_product(backend, dtype, many, vectors, wide, matrix, Style{});
  }
}

TEST_CASE("products added to the output, scaled, and of layouts that need a copy") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  std::size_t turn = 0;
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    for (const auto& [alpha, beta] : {std::pair(1.0, 1.0), {-0.75, 0.0}, {2.0, -0.5}, {0.0, 3.0}}) {
      MatmulOptions options;
      options.alpha = alpha;
      options.beta = beta;
      check_shape(backend, dtype, {2, 9, 33}, {2, 33, 15}, turn++, options);
      check_shape(backend, dtype, {3, 80}, {80, 11}, turn++, options);
      check_shape(backend, dtype, {3, 0}, {0, 11}, turn++, options);
    }
    const Values a = factors(dtype, {9, 14}, 7, false);
    const Values b = factors(dtype, {14, 6}, 8, false);
    const Tensor x = test::place(backend, dtype, a.dims, test::Placement::spread);
    const Tensor y = test::place(backend, dtype, b.dims, test::Placement::spread);
    test::write(backend, x, a);
    test::write(backend, y, b);
    Tensor out = test::place(backend, dtype, Dims{9, 6}, test::Placement::spread);
    ops::matmul_into(backend, out, x, y);
    test::check_result(dtype, test::read(backend, out), reference::matmul(dtype, a, b));
    const Values old = factors(dtype, {9, 6}, 9, false);
    test::write(backend, out, old);
    ops::matmul_into(backend, out, x, y, {.beta = 2});
    test::check_result(dtype, test::read(backend, out), reference::matmul(dtype, a, b, 1, 2, &old));
    CHECK_THROWS_WITH_AS(ops::matmul(backend, x, y, {.no_copies = true}),
                         doctest::Contains("strides [58,2] needs a copy"), Error);
  }
}

TEST_CASE("NaN and infinity in products, and products of nothing") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t rows : {4u, 20u}) {
      Values a = factors(dtype, {rows, 70}, 10, true);
      const Values b = factors(dtype, {70, 20}, 11, true);
      a.at[3] = std::nanl("");
      a.at[70 + 69] = INFINITY;
      const Tensor x = put_matrices(backend, dtype, a, Style{});
      const Tensor y = put_matrices(backend, dtype, b, Style{true, 0, 0});
      check_product(backend, dtype, x, a, y, b, Style{});
    }
    for (const bool has_rows : {false, true}) {
      const Tensor x = backend.empty(dtype, {2, has_rows ? 3u : 0u, 4});
      const Tensor y = backend.empty(dtype, {has_rows ? 1u : 2u, 4, has_rows ? 0u : 5u});
      CHECK(ops::matmul(backend, x, y).element_count() == 0);
    }
  }
}

TEST_CASE("what the bound of products excludes") {
  const Values a = factors(DType::f16, {4, 300}, 12, false);
  const Values b = factors(DType::f16, {300, 4}, 13, false);
  const auto right = reference::matmul(DType::f16, a, b);
  const auto is_inside = [&](std::size_t at, long double value) {
    return std::fabs(value - right.values.at[at]) <= right.slack[at];
  };
  const auto in_f16 = [](float value) { return to_float(to_half(value)); };
  std::size_t outside = 0;
  std::size_t dropped = 0;
  for (std::size_t at = 0; at < 16; ++at) {
    float of_halves = 0;
    float of_singles = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      const auto x = static_cast<float>(a.at[at / 4 * 300 + i]);
      const auto y = static_cast<float>(b.at[i * 4 + at % 4]);
      of_halves = in_f16(of_halves + x * y);
      of_singles += x * y;
      if (i == 298) dropped += is_inside(at, in_f16(of_singles)) ? 0u : 1u;
    }
    CHECK(is_inside(at, in_f16(of_singles)));
    outside += is_inside(at, of_halves) ? 0u : 1u;
  }
  CHECK(outside >= 8);
  CHECK(dropped >= 14);
}

TEST_CASE("errors of matrix products name types and shapes") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor a = backend.empty(DType::f32, {3, 4});
  const Tensor b = backend.empty(DType::f32, {4, 5});
  CHECK_THROWS_WITH_AS(ops::matmul(backend, b, a), doctest::Contains("f32[4,5] and f32[3,4]"),
                       Error);
  CHECK_THROWS_AS(ops::matmul(backend, a, backend.empty(DType::f32, {4})), Error);
  CHECK_THROWS_AS(ops::matmul(backend, a, backend.empty(DType::f32, {1, 4, 5})), Error);
  CHECK_THROWS_AS(ops::matmul(backend, backend.empty(DType::f32, {2, 3, 4}),
                              backend.empty(DType::f32, {3, 4, 5})),
                  Error);
  CHECK_THROWS_AS(ops::matmul(backend, a, backend.empty(DType::f16, {4, 5})), Error);
  CHECK_THROWS_WITH_AS(
      ops::matmul(backend, backend.empty(DType::u8, {3, 4}), backend.empty(DType::u8, {4, 5})),
      doctest::Contains("matmul: u8[3,4]"), Error);
  Tensor wide = backend.empty(DType::f32, {3, 4}), square = backend.empty(DType::f32, {4, 4});
  CHECK_THROWS_AS(ops::matmul_into(backend, wide, a, b), Error);
  CHECK_THROWS_WITH_AS(ops::matmul_into(backend, square, square, b.with_layout(Layout({4, 4}))),
                       doctest::Contains("overlaps the input"), Error);
}

TEST_CASE("a long sum is split by its shape, and has the same bits in every layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t rows : {3u, 10u}) {
      if (rows == 10 && dtype != DType::f32) continue;
      CAPTURE(rows);
      const Values a = factors(dtype, {rows, 2500}, 14, false);
      const Values b = factors(dtype, {2500, 9}, 15, false);
      const auto expected = reference::matmul(dtype, a, b);
      std::vector<std::byte> first;
      for (const Style style : {styles[0], styles[1], styles[5]}) {
        const Tensor x = put_matrices(backend, dtype, a, style);
        const Tensor y = put_matrices(backend, dtype, b, style);
        const auto found =
            test::read(backend, ops::matmul(backend, x, y, {.alpha = 1, .exact = true}));
        test::check_result(dtype, found, expected);
        if (first.empty()) first = found;
        CHECK(found == first);
      }
    }
  }
}

TEST_CASE("matrix units read both factors in every layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // On the processor the instructions are imitated.
  const auto own = ops::state_of(backend).matrix_units;
  const auto units = backend.device().is_host_memory() ? ops::MatrixUnits::warps : own;
  if (units == ops::MatrixUnits::none) return test::skip_case("no matrix units here");
  std::size_t turn = 0;
  for (const auto& size : std::vector<std::array<std::uint64_t, 3>>{{40, 48, 24}, {24, 56, 272}}) {
    for (const auto& [of_a, of_b] : {std::pair(0, 0), {0, 1}, {1, 0}, {1, 1}}) {
      const DType dtype = turn++ % 2 == 0 ? DType::f16 : DType::bf16;
      if (size[2] > 100 && of_a == of_b) continue;
      CAPTURE(turn);
      const Values a = factors(dtype, {size[0], size[1]}, 16, turn % 3 == 0);
      const Values b = factors(dtype, {size[1], size[2]}, 17, turn % 3 == 0);
      const Values old = factors(dtype, {size[0], size[2]}, 18, true);
      const Tensor x = put_matrices(backend, dtype, a, Style{of_a == 1, 0, 0});
      const Tensor y = put_matrices(backend, dtype, b, Style{of_b == 1, 0, 0});
      const double beta = turn % 2 == 0 ? -1 : 0;
      Tensor out = put_matrices(backend, dtype, old, Style{false, turn % 2, turn % 2});
      ops::launch_product(
          backend,
          {ops::MatrixOperand(x), ops::MatrixOperand(y), ops::MatrixOperand(out), 0, dtype},
          {.beta = beta}, units);
      test::check_result(dtype, test::read(backend, out),
                         reference::matmul(dtype, a, b, 1, beta, &old));
    }
  }
}

TEST_CASE("matrix units of four warps: tiles and pieces with edges, batches, sums in chunks") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto own = ops::state_of(backend).matrix_units;
  const auto units = backend.device().is_host_memory() ? ops::MatrixUnits::groups : own;
  if (units != ops::MatrixUnits::groups) return test::skip_case("no matrix units of four warps");
  struct Case {
    std::uint64_t batch, m, k, n;
    double beta;
    std::uint64_t extra;  // between the results' rows
  };
  std::size_t turn = 0;
  for (const Case& one : std::vector<Case>{{1, 128, 264, 256, 0, 0},
                                           {1, 136, 72, 264, 0, 3},
                                           {1, 24, 8, 272, -1, 0},
                                           {3, 40, 136, 24, 0.5, 1},
                                           {1, 16, 2064, 16, 0, 0}}) {
    for (const bool is_first : {true, false}) {
      // Each layout with each kind of case, though not every pair.
      const bool turned_a = (turn + (is_first ? 0 : 1)) % 2 == 1;
      const bool turned_b = (turn / 2 + (is_first ? 0 : 1)) % 2 == 1;
      const DType dtype = turn++ % 3 == 0 ? DType::f16 : DType::bf16;
      CAPTURE(one.k);
      CAPTURE(turn);
      const Values a = factors(dtype, {one.batch, one.m, one.k}, 31, is_first);
      const Values b = factors(dtype, {one.batch, one.k, one.n}, 32, is_first);
      Values old = factors(dtype, {one.batch, one.m, one.n}, 33, true);
      // What is not to be read may be anything.
      if (one.beta == 0) std::fill(old.at.begin(), old.at.end(), NAN);
      const Tensor x = put_matrices(backend, dtype, a, Style{turned_a, 8, 8});
      const Tensor y = put_matrices(backend, dtype, b, Style{turned_b, 0, 16});
      Tensor out = put_matrices(backend, dtype, old, Style{false, one.extra, one.extra});
      ops::multiply_tensors(backend, x, y, out, {.alpha = 0.5, .beta = one.beta, .no_copies = true},
                            units);
      test::check_result(
          dtype, test::read(backend, out),
          reference::matmul(dtype, a, b, 0.5, one.beta, one.beta != 0 ? &old : nullptr));
    }
  }
}

TEST_CASE("matrix units of one warp take over where the driver refuses the image for four") {
  test::WrappedDevice wrapped;
  const Device& device = wrapped.device();
  const std::string arch = device.info().arch;
  const bool is_cpu = device.platform() == Platform::cpu;
  const auto units =
      is_cpu ? ops::MatrixUnits::groups : ops::matrix_units_of(device.platform(), arch);
  if (units != ops::MatrixUnits::groups) return test::skip_case("no matrix units of four warps");
  // A cubin besides PTX where ptxas was found; drivers before CUDA 12 read PTX up to 7.
  const auto images = kernel_store::choose_images("ops_matmul_groups", device.platform(), arch);
  const bool is_old = images.size() == 1 && std::getenv("FAKE_CUDA_PTX_MAJOR") != nullptr;
  const Values a = factors(DType::f16, {16, 24}, 41, true);
  const Values b = factors(DType::f16, {24, 16}, 42, true);
  const auto expected = reference::matmul(DType::f16, a, b);
  for (const bool is_refused : {false, true}) {
    CAPTURE(is_refused);
    const Backend backend(device);
    const Tensor x = put_matrices(backend, DType::f16, a, Style{});
    const Tensor y = put_matrices(backend, DType::f16, b, Style{});
    Tensor out = place_matrices(backend, DType::f16, {16, 16}, Style{});
    wrapped.table().reset();
    constexpr std::array calls{"hipModuleLoadData", "hipModuleLoadDataEx"};
    for (const char* call : calls) {
      if (is_refused) wrapped.table().fail(call, hip::hipErrorInvalidImage);
    }
    for (int turn = 0; turn < 2; ++turn) {
      ops::multiply_tensors(backend, x, y, out, {}, units);
      test::check_result(DType::f16, test::read(backend, out), expected);
      std::uint64_t loads = 0;
      for (const char* call : calls) loads += wrapped.table().count(call);
      CHECK(loads == (is_refused ? images.size() + 1 : is_old ? 2 : 1));
    }
  }
}

TEST_CASE("halves whose rows matrix units cannot read are copied") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  if (backend.device().platform() != Platform::cpu) return test::skip_case("for the cpu only");
  const Values a = factors(DType::f16, {17, 19}, 24, false);
  const Values b = factors(DType::f16, {19, 131}, 25, false);
  const auto expected = reference::matmul(DType::f16, a, b);
  const Tensor x = put_matrices(backend, DType::f16, a, Style{true, 0, 1});
  const Tensor y = put_matrices(backend, DType::f16, b, Style{false, 5, 0});
  Tensor out = place_matrices(backend, DType::f16, {17, 131}, Style{false, 1, 3});
  ops::multiply_tensors(backend, x, y, out, {}, ops::MatrixUnits::warps);
  test::check_result(DType::f16, test::read(backend, out), expected);
}

TEST_CASE("gated layers of a model, scaled sums") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : matmul_dtypes) {
    CAPTURE(to_string(dtype));
    const auto rounded = [&](Values values) {
      return reference::values_of(dtype, reference::bytes_of(dtype, values), values.dims);
    };
    const Values x = factors(dtype, {2, 3, 8}, 20, true);
    const Values gates = factors(dtype, {8, 10}, 21, true);
    const Values up = factors(dtype, {8, 10}, 22, true);
    const Values down = factors(dtype, {10, 5}, 23, true);
    Values flat = x;
    flat.dims = {6, 8};
    const Values first = rounded(reference::matmul(dtype, flat, gates).values);
    const Values second = rounded(reference::matmul(dtype, flat, up).values);
    const Values inner = rounded(reference::gate(dtype, ops::Gate::silu, first, second).values);
    auto expected = reference::matmul(dtype, inner, down);
    // The activation may differ by some units, of which each counts in a sum.
    for (std::size_t i = 0; i < expected.slack.size(); ++i) {
      for (std::size_t k = 0; k < 10; ++k) {
        expected.slack[i] += 3 * reference::ulp_of(dtype, inner.at[i / 5 * 10 + k]) *
                             std::fabs(down.at[k * 5 + i % 5]);
      }
    }
    const auto put = [&](const Values& values, Style style) {
      return put_matrices(backend, dtype, values, style);
    };
    const Tensor result = ops::mlp_swiglu(backend, put(x, styles[4]), put(gates, styles[1]),
                                          put(up, styles[0]), put(down, styles[5]));
    REQUIRE(result.layout() == Layout({2, 3, 5}));
    test::check_result(dtype, test::read(backend, result), expected);
    const Tensor swapped = ops::mlp_swiglu(backend, put(x, styles[4]), put(up, styles[1]),
                                           put(gates, styles[0]), put(down, styles[5]));
    CHECK(test::read(backend, swapped) !=
          test::read(backend, ops::mlp_swiglu(backend, put(x, styles[4]), put(gates, styles[1]),
                                              put(up, styles[0]), put(down, styles[5]))));

    Tensor y = put(up, Style{});
    ops::axpy_into(backend, y, 3, put(gates, styles[1]), y);
    Values sums = up;
    for (std::size_t i = 0; i < sums.at.size(); ++i) sums.at[i] += 3 * gates.at[i];
    Tensor scaled = put(sums, Style{});
    test::check_result(dtype, test::read(backend, y), {sums, {}});
    for (long double& value : sums.at) value *= -2;
    ops::scal(backend, scaled, -2);
    test::check_result(dtype, test::read(backend, scaled), {sums, {}});
  }
  const Tensor x = backend.empty(DType::f32, {3, 8});
  const Tensor wide = backend.empty(DType::f32, {8, 10});
  const Tensor down = backend.empty(DType::f32, {10, 5});
  CHECK_THROWS_WITH_AS(ops::mlp_swiglu(backend, x, down, wide, down),
                       doctest::Contains("the gate is f32[10,5] and should be [8,5]"), Error);
  CHECK_THROWS_WITH_AS(ops::mlp_swiglu(backend, x, wide, down, down),
                       doctest::Contains("up is f32[10,5]"), Error);
  CHECK_THROWS_WITH_AS(ops::mlp_swiglu(backend, x, wide, wide, wide),
                       doctest::Contains("down is f32[8,10]"), Error);
}
