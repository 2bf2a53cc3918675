// SPDX-License-Identifier: MIT
/// The kernels that f16 and bf16 have of their own: every element, and every layout with the same
/// bits. unary_test.cpp compares all of them with the reference.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "reference/ops/rows.hpp"
#include "unit/ops/all_numbers.hpp"

using namespace hiptool;

namespace {

using HalfBits = std::vector<std::uint16_t>;

constexpr std::array narrow_operations{ops::Unary::exp, ops::Unary::tanh, ops::Unary::sigmoid,
                                       ops::Unary::silu, ops::Unary::gelu};

HalfBits halves_of(const std::vector<std::byte>& bytes) {
  HalfBits bits(bytes.size() / 2);
  std::memcpy(bits.data(), bytes.data(), bytes.size());
  return bits;
}

/// What must hold of a result bit for bit: one pattern for NaN, and the sign.
bool has_right_form(ops::Unary operation, std::uint16_t in, std::uint16_t out, DType dtype) {
  const std::uint16_t infinity = dtype == DType::f16 ? 0x7C00 : 0x7F80;
  const std::uint16_t nan = dtype == DType::f16 ? 0x7E00 : 0x7FC0;
  if ((in & 0x7FFF) > infinity) return out == nan;
  const bool keeps_sign = operation != ops::Unary::exp && operation != ops::Unary::sigmoid;
  const std::uint16_t sign = keeps_sign ? in & 0x8000 : 0;
  return (out & 0x8000) == sign && (out & 0x7FFF) <= infinity;
}

/// 64-bit FNV-1a of the results, low bytes first.
std::uint64_t digest_of(const HalfBits& bits) {
  std::uint64_t digest = 0xCBF29CE484222325;
  for (const std::uint16_t number : bits) {
    for (const unsigned byte : {number & 0xFFU, unsigned{number} >> 8}) {
      digest = (digest ^ byte) * 0x100000001B3;
    }
  }
  return digest;
}

/// Numbers of that type between -3 and 5.
reference::Values some_reals(DType dtype, std::vector<std::uint64_t> dims, std::uint32_t seed) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  reference::Values values{dims, {}};
  std::mt19937 random(seed);
  for (std::uint64_t i = 0; i < count; ++i) values.at.push_back(0x1p-29L * random() - 3);
  return reference::values_of(dtype, reference::bytes_of(dtype, values), dims);
}

}  // namespace

TEST_CASE("functions of f16 and bf16 keep signs, and write one pattern for NaN") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const auto bytes = test::all_elements(dtype);
    const HalfBits in = halves_of(bytes);
    const std::array<std::uint64_t, 1> dims{in.size()};
    const Tensor x = test::packed_tensor(backend, dtype, bytes, dims);
    for (const ops::Unary operation : narrow_operations) {
      CAPTURE(ops::to_string(operation));
      const HalfBits out =
          halves_of(test::bytes_on_host(backend, ops::unary(backend, operation, x)));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!has_right_form(operation, in[i], out[i], dtype)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("functions of f16 and bf16 give every element the same bits on every device") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // Of f16 and of bf16; how near the results are, unary_test.cpp says.
  constexpr std::uint64_t digests[][2] = {{5240623057389604509U, 3387613977331803765U},
                                          {17031468128005867989U, 15683340881784544137U},
                                          {4877967844279799133U, 11477290084647178750U},
                                          {1603153549362908203U, 14794734347836820961U},
                                          {17967852773870252654U, 14858036687972756875U}};
  for (std::size_t i = 0; i < narrow_operations.size(); ++i) {
    CAPTURE(ops::to_string(narrow_operations[i]));
    for (const DType dtype : {DType::f16, DType::bf16}) {
      CAPTURE(to_string(dtype));
      const auto bytes = test::all_elements(dtype);
      const std::array<std::uint64_t, 1> dims{bytes.size() / 2};
      const Tensor x = test::packed_tensor(backend, dtype, bytes, dims);
      const Tensor result = ops::unary(backend, narrow_operations[i], x);
      CHECK(digest_of(halves_of(test::bytes_on_host(backend, result))) ==
            digests[i][dtype == DType::bf16]);
    }
  }
}

// Half of an odd multiple of the least number is such a result, whatever rounds it.
TEST_CASE("results of silu and gelu halfway between two elements are the even ones") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  HalfBits in;
  HalfBits expected;
  for (std::uint16_t multiple = 1; multiple < 64; multiple += 2) {
    const auto below = static_cast<std::uint16_t>(multiple / 2);
    const auto even = static_cast<std::uint16_t>(below + below % 2);
    for (const unsigned sign : {0U, 0x8000U}) {
      in.push_back(static_cast<std::uint16_t>(multiple | sign));
      expected.push_back(static_cast<std::uint16_t>(even | sign));
    }
  }
  std::vector<std::byte> bytes(in.size() * 2);
  std::memcpy(bytes.data(), in.data(), bytes.size());
  const std::array<std::uint64_t, 1> dims{in.size()};
  const Tensor x = test::packed_tensor(backend, DType::bf16, bytes, dims);
  for (const ops::Unary operation : {ops::Unary::silu, ops::Unary::gelu}) {
    CAPTURE(ops::to_string(operation));
    CHECK(halves_of(test::bytes_on_host(backend, ops::unary(backend, operation, x))) == expected);
  }
}

TEST_CASE("functions of f16 and bf16 have the same bits in every layout and at every length") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const auto bytes = test::all_elements(dtype);
    const std::array<std::uint64_t, 2> dims{256, 256};
    const Tensor x = test::packed_tensor(backend, dtype, bytes, dims);
    const Tensor turned = x.with_layout(x.layout().transpose(0, 1));
    for (const ops::Unary operation : narrow_operations) {
      CAPTURE(ops::to_string(operation));
      const HalfBits expected =
          halves_of(test::bytes_on_host(backend, ops::unary(backend, operation, x)));
      const HalfBits of_turned =
          halves_of(test::bytes_on_host(backend, ops::unary(backend, operation, turned)));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (of_turned[i % 256 * 256 + i / 256] != expected[i]) ++wrong;
      }
      CHECK(wrong == 0);
      // The last piece of a thread may be missing, or in part; elements at an odd place have none.
      for (const auto& part_of : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 7},
                                                                                      {8, 8},
                                                                                      {31744, 1025},
                                                                                      {15360, 4096},
                                                                                      {15360, 6147},
                                                                                      {30000, 2055},
                                                                                      {1, 1000}}) {
        const std::uint64_t first = part_of.first;  // not bindings, which clang captures nowhere
        const std::uint64_t count = part_of.second;
        CAPTURE(first);
        CAPTURE(count);
        // In a copy: what is around the part shall stay.
        const Tensor copy = test::packed_tensor(backend, dtype, bytes, dims);
        Tensor part = copy.with_layout(Layout({count}, first));
        ops::unary_into(backend, part, operation, part);
        HalfBits around = halves_of(bytes);
        std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), count,
                    around.begin() + static_cast<std::ptrdiff_t>(first));
        CHECK(halves_of(test::bytes_on_host(backend, copy)) == around);
      }
    }
  }
}

TEST_CASE("rows of f16 and bf16 that a block holds are normalised to the bits of other rows") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t width : {520u, 4096u, 4104u, 8192u}) {
      CAPTURE(width);
      const reference::Values values = some_reals(dtype, {3, width}, 41);
      const reference::Values weight = some_reals(dtype, {width}, 42);
      const reference::Values bias = some_reals(dtype, {width}, 43);
      const Tensor x = test::packed_tensor(backend, dtype, values);
      // Off the boundary of a piece, where a block cannot hold it.
      const Tensor apart = test::place(backend, dtype, values.dims, test::Placement::offset);
      test::write(backend, apart, values);
      const Tensor w = test::packed_tensor(backend, dtype, weight);
      const Tensor b = test::packed_tensor(backend, dtype, bias);
      CHECK(test::read(backend, ops::rmsnorm(backend, x, w, 1e-5)) ==
            test::read(backend, ops::rmsnorm(backend, apart, w, 1e-5)));
      CHECK(test::read(backend, ops::layernorm(backend, x, w, 1e-5)) ==
            test::read(backend, ops::layernorm(backend, apart, w, 1e-5)));
      const auto both = test::read(backend, ops::layernorm(backend, apart, w, b, 1e-5));
      CHECK(test::read(backend, ops::layernorm(backend, x, w, b, 1e-5)) == both);
      Tensor same = test::packed_tensor(backend, dtype, values);
      ops::layernorm_into(backend, same, same, w, b, 1e-5);
      CHECK(test::read(backend, same) == both);
    }
  }
}

TEST_CASE("softmax of f16 and bf16 rows that a block holds, to the edges of the types") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const long double infinite = std::numeric_limits<long double>::infinity();
  const long double nan = std::numeric_limits<long double>::quiet_NaN();
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t width : {520u, 4096u, 4104u, 8192u}) {
      CAPTURE(width);
      reference::Values values = some_reals(dtype, {7, width}, 44);
      const auto row = [&](std::uint64_t r) { return values.at.data() + r * width; };
      std::fill_n(row(1), width, -infinite);      // NaN
      std::fill_n(row(2), width - 1, -infinite);  // and one number, which gets all
      row(3)[width / 2] = nan;                    // NaN
      row(4)[width - 1] = infinite;               // NaN
      std::fill_n(row(5), width, -60000.0L);      // equal shares
      for (std::uint64_t i = 0; i < width; ++i) row(6)[i] = -0.015625L * static_cast<int>(i);
      Tensor x = test::packed_tensor(backend, dtype, values);
      values = reference::values_of(dtype, reference::bytes_of(dtype, values), values.dims);
      ops::softmax_into(backend, x, x);
      test::check_result(dtype, test::read(backend, x),
                         reference::softmax(dtype, values, 1, false));
    }
  }
}

namespace {

constexpr std::uint64_t few_rows = 41;
constexpr std::uint64_t times_repeated = 25;  // 1025 rows, of which the last block has not all

/// A tensor with these rows again and again.
Tensor repeated_rows(const Backend& backend, DType dtype, const reference::Values& few) {
  const std::vector<std::byte> bytes = reference::bytes_of(dtype, few);
  std::vector<std::byte> all;
  all.reserve(times_repeated * bytes.size());
  for (std::uint64_t i = 0; i < times_repeated; ++i) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  const std::array<std::uint64_t, 2> dims{few.dims[0] * times_repeated, few.dims[1]};
  return test::packed_tensor(backend, dtype, all, dims);
}

/// Of rows with every kind of special number the results of all row-wise operations.
std::vector<std::vector<std::byte>> results_of_rows(const Backend& backend, const Tensor& x,
                                                    const Tensor& weight, const Tensor& bias) {
  std::vector<std::vector<std::byte>> results;
  results.push_back(test::read(backend, ops::softmax(backend, x)));
  results.push_back(test::read(backend, ops::rmsnorm(backend, x, weight, 1e-5)));
  results.push_back(test::read(backend, ops::layernorm(backend, x, bias, 1e-5)));
  Tensor same = x;
  ops::layernorm_into(backend, same, x, bias, weight, 1e-5);
  results.push_back(test::read(backend, same));
  return results;
}

}  // namespace

TEST_CASE("many rows of f16 and bf16 have the bits that few of them have") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const long double infinite = std::numeric_limits<long double>::infinity();
  const long double nan = std::numeric_limits<long double>::quiet_NaN();
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    for (const std::uint64_t width : {520u, dtype == DType::f16 ? 4096u : 2056u}) {
      CAPTURE(width);
      reference::Values values = some_reals(dtype, {few_rows, width}, 45);
      const auto row = [&](std::uint64_t r) { return values.at.data() + r * width; };
      row(3)[width - 1] = nan;
      row(4)[width / 2] = infinite;
      row(5)[1] = -infinite;
      std::fill_n(row(6), width, -infinite);
      std::fill_n(row(7), width, 0.0L);
      std::fill_n(row(8), width, 2.0L);
      for (std::uint64_t i = 0; i < width; ++i) row(9)[i] = dtype == DType::f16 ? 60000 : 3e38L;
      reference::Values weights = some_reals(dtype, {width}, 46);
      weights.at[3] = infinite;
      weights.at[width - 1] = nan;
      const Tensor weight = test::packed_tensor(backend, dtype, weights);
      const Tensor bias = test::packed_tensor(backend, dtype, some_reals(dtype, {width}, 47));
      const auto expected =
          results_of_rows(backend, test::packed_tensor(backend, dtype, values), weight, bias);
      const auto found =
          results_of_rows(backend, repeated_rows(backend, dtype, values), weight, bias);
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        for (std::uint64_t part = 0; part < times_repeated; ++part) {
          CHECK(std::equal(
              expected[i].begin(), expected[i].end(),
              found[i].begin() + static_cast<std::ptrdiff_t>(part * expected[i].size())));
        }
      }
    }
  }
}

TEST_CASE("many rows of f16 and bf16 that are apart have the bits of packed ones") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const std::uint64_t width = dtype == DType::f16 ? 1032 : 2048;
    constexpr std::uint64_t rows = few_rows * times_repeated;
    const Tensor x = repeated_rows(backend, dtype, some_reals(dtype, {few_rows, width}, 48));
    const Tensor weight = test::packed_tensor(backend, dtype, some_reals(dtype, {width}, 49));
    const Tensor wide =
        repeated_rows(backend, dtype, some_reals(dtype, {few_rows, width + 24}, 50));
    const std::vector<std::byte> before = test::read(backend, wide);
    Tensor apart = wide.with_layout(wide.layout().narrow(1, 8, width));
    ops::copy_into(backend, apart, x);
    CHECK(test::read(backend, ops::softmax(backend, apart)) ==
          test::read(backend, ops::softmax(backend, x)));
    ops::rmsnorm_into(backend, apart, x, weight, 1e-5);
    CHECK(test::read(backend, ops::copy(backend, apart)) ==
          test::read(backend, ops::rmsnorm(backend, x, weight, 1e-5)));
    const std::vector<std::byte> after = test::read(backend, wide);
    const std::uint64_t row_bytes = (width + 24) * 2;
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto first = static_cast<std::ptrdiff_t>(row * row_bytes);
      const auto last = static_cast<std::ptrdiff_t>((row + 1) * row_bytes);
      CHECK(std::equal(before.begin() + first, before.begin() + first + 16, after.begin() + first));
      CHECK(
          std::equal(before.begin() + last - 32, before.begin() + last, after.begin() + last - 32));
    }
  }
}

TEST_CASE("gates of f16 and bf16 whose factor is nearly 0, infinite or NaN") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const auto [bytes, gates] = test::every_element(dtype);
    const Tensor x = test::packed_tensor(backend, dtype, bytes, gates.dims);
    const long double most = dtype == DType::f16 ? 65504.0L : 3e38L;
    for (const long double factor : {1.0L, -0.3L, most}) {
      CAPTURE(static_cast<double>(factor));
      const reference::Values up = reference::values_of(
          dtype, reference::bytes_of(dtype, {gates.dims, std::vector<long double>(65536, factor)}),
          gates.dims);
      const Tensor y = test::packed_tensor(backend, dtype, up);
      for (const ops::Gate kind : {ops::Gate::silu, ops::Gate::sigmoid}) {
        CAPTURE(static_cast<int>(kind));
        test::check_result(dtype, test::bytes_on_host(backend, ops::gate(backend, kind, x, y)),
                           reference::gate(dtype, kind, gates, up));
      }
    }
  }
}

TEST_CASE("gates of f16 and bf16 have the same bits in every layout and at every length") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const auto bytes = test::all_elements(dtype);
    // Each element beside one of any other size and sign, or NaN.
    std::vector<std::byte> others(bytes.size());
    for (std::size_t i = 0; i < 65536; ++i) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * 40503 % 65536 * 2), 2,
                  others.begin() + static_cast<std::ptrdiff_t>(i * 2));
    }
    const std::array<std::uint64_t, 2> dims{256, 256};
    const Tensor x = test::packed_tensor(backend, dtype, bytes, dims);
    const Tensor y = test::packed_tensor(backend, dtype, others, dims);
    const Tensor wide = backend.zeros(dtype, {256, 264});
    Tensor apart = wide.with_layout(wide.layout().narrow(1, 8, 256));
    ops::copy_into(backend, apart, x);
    const auto turn = [](const Tensor& tensor) {
      return tensor.with_layout(tensor.layout().transpose(0, 1));
    };
    for (const ops::Gate kind : {ops::Gate::silu, ops::Gate::sigmoid}) {
      CAPTURE(static_cast<int>(kind));
      const HalfBits expected =
          halves_of(test::bytes_on_host(backend, ops::gate(backend, kind, x, y)));
      CHECK(halves_of(test::bytes_on_host(backend, ops::gate(backend, kind, apart, y))) ==
            expected);
      Tensor turned = backend.zeros(dtype, dims);
      Tensor out = turn(turned);
      ops::gate_into(backend, out, kind, turn(x), turn(y));
      CHECK(halves_of(test::bytes_on_host(backend, turned)) == expected);
      // Of operands with different orders no layout has runs.
      const HalfBits crossed = halves_of(test::bytes_on_host(
          backend, ops::gate(backend, kind, turn(x), ops::copy(backend, turn(y)))));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (crossed[i % 256 * 256 + i / 256] != expected[i]) ++wrong;
      }
      CHECK(wrong == 0);
      for (const auto& part_of : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
               {0, 7}, {8, 8}, {31744, 1025}, {15360, 6147}, {30000, 2055}, {1, 1000}}) {
        const std::uint64_t first = part_of.first;  // not bindings, which clang captures nowhere
        const std::uint64_t count = part_of.second;
        CAPTURE(first);
        CAPTURE(count);
        const Tensor copy = test::packed_tensor(backend, dtype, bytes, dims);
        Tensor part = copy.with_layout(Layout({count}, first));
        ops::gate_into(backend, part, kind, x.with_layout(Layout({count}, first)),
                       y.with_layout(Layout({count}, first)));
        HalfBits around = halves_of(bytes);
        std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), count,
                    around.begin() + static_cast<std::ptrdiff_t>(first));
        CHECK(halves_of(test::bytes_on_host(backend, copy)) == around);
      }
    }
  }
}
