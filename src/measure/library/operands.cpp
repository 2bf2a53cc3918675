// SPDX-License-Identifier: MIT
#include "measure/library/operands.hpp"

#include <cstring>
#include <variant>

namespace hiptool::measure {
namespace {

template <class Stored>
Stored stored_at(const std::byte* from) {
  Stored value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

ProductSizes sizes_of(const MatmulProblem& problem) {
  return {problem.m, problem.n, problem.k, problem.batch};
}
ProductSizes sizes_of(const ConvProblem& problem) {
  return {problem.k / problem.groups, problem.out_height() * problem.out_width(), problem.terms(),
          problem.n * problem.groups};
}

std::int64_t signed_of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

double number_at(DType dtype, const std::byte* bytes, std::uint64_t index) {
  switch (dtype) {
    case DType::f64: return stored_at<double>(bytes + index * 8);
    case DType::i32: return stored_at<std::int32_t>(bytes + index * 4);
    case DType::i8: return stored_at<std::int8_t>(bytes + index);
    case DType::f16: return to_float(Half{stored_at<std::uint16_t>(bytes + index * 2)});
    case DType::bf16: return to_float(BFloat16{stored_at<std::uint16_t>(bytes + index * 2)});
    default: return stored_at<float>(bytes + index * 4);
  }
}

std::uint64_t bits_at(DType dtype, const std::byte* bytes, std::uint64_t index) {
  const std::size_t size = element_size_bytes(dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes + index * size, size);
  return bits;
}

FilterPlaces::FilterPlaces(const ConvProblem& problem)
    : height_(signed_of(problem.h)), width_(signed_of(problem.w)) {
  const std::uint64_t filter = problem.r * problem.s;
  for (std::uint64_t i = 0; i < problem.terms(); ++i) {
    terms_.push_back({signed_of(i / filter),
                      signed_of(i % filter / problem.s * problem.dilation[0]),
                      signed_of(i % problem.s * problem.dilation[1])});
  }
  for (std::uint64_t row = 0; row < problem.out_height(); ++row) {
    for (std::uint64_t column = 0; column < problem.out_width(); ++column) {
      pixels_.push_back({0, signed_of(row * problem.stride[0]) - signed_of(problem.padding[0]),
                         signed_of(column * problem.stride[1]) - signed_of(problem.padding[1])});
    }
  }
}

ProductView::ProductView(const Problem& problem, const ProblemData& data)
    : problem_(problem),
      data_(data),
      sizes_(matmul_of(problem) != nullptr ? sizes_of(*matmul_of(problem))
                                           : sizes_of(std::get<ConvProblem>(problem))) {
  if (const auto* const conv = std::get_if<ConvProblem>(&problem)) places_.emplace(*conv);
}

Operand ProductView::left(std::uint64_t batch) const {
  Operand all{types_of(problem_).dtype, data_.a.data(), batch * sizes_.m * sizes_.k, sizes_.k, 1};
  if (const MatmulProblem* const product = matmul_of(problem_)) {
    if (product->transpose_a) {
      all.outer = 1;
      all.inner = sizes_.m;
    }
  } else {
    all.start = batch % std::get<ConvProblem>(problem_).groups * sizes_.m * sizes_.k;
  }
  return all;
}

Operand ProductView::right(std::uint64_t batch) const {
  Operand all{types_of(problem_).dtype, data_.b.data(), batch * sizes_.k * sizes_.n, 1, sizes_.n};
  if (const MatmulProblem* const product = matmul_of(problem_)) {
    if (product->transpose_b) {
      all.outer = sizes_.k;
      all.inner = 1;
    }
  } else {
    const auto& conv = std::get<ConvProblem>(problem_);
    all.start = batch * (conv.c / conv.groups) * conv.h * conv.w;
    all.places = &*places_;
  }
  return all;
}

}  // namespace hiptool::measure
