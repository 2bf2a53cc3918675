// SPDX-License-Identifier: MIT
/// The kernels that f16 and bf16 have of their own: every element, and every layout with the same
/// bits. unary_test.cpp compares all of them with the reference.
#include <cstring>
#include <utility>

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
