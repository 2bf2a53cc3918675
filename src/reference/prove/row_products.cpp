// SPDX-License-Identifier: MIT
#include "reference/prove/row_products.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace hiptool::reference {
namespace {

// What a register of x86-64 and of AArch64 holds; without the type GCC 12 adds one by one.
using Pair = double __attribute__((vector_size(16)));
constexpr std::size_t pairs_of_sum = 4;

/// Eight sums in registers.
struct EightSums {
  Pair pairs[pairs_of_sum];  // an array<> loses the type's size

  explicit EightSums(const double* from) { std::memcpy(pairs, from, sizeof pairs); }
  void store(double* to) const { std::memcpy(to, pairs, sizeof pairs); }
};

Pair pair_at(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

void add_with_squares(const double* row, const double* vector, std::size_t count, double* sums,
                      double* squares) {
  EightSums of_terms(sums);
  EightSums of_squares(squares);
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    for (std::size_t i = 0; i < pairs_of_sum; ++i) {
      const Pair term = pair_at(row + at + 2 * i) * pair_at(vector + at + 2 * i);
      of_terms.pairs[i] += term;
      of_squares.pairs[i] += term * term;
    }
  }
  of_terms.store(sums);
  of_squares.store(squares);
  for (; at < count; ++at) {
    const double term = row[at] * vector[at];
    sums[at % 8] += term;
    squares[at % 8] += term * term;
  }
}

// Of two vectors, so that additions of one need not wait for each other.
void add_two(const double* row, const double* left, const double* right, std::size_t count,
             double* left_sums, double* right_sums) {
  EightSums of_left(left_sums);
  EightSums of_right(right_sums);
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    for (std::size_t i = 0; i < pairs_of_sum; ++i) {
      const Pair weights = pair_at(row + at + 2 * i);
      of_left.pairs[i] += weights * pair_at(left + at + 2 * i);
      of_right.pairs[i] += weights * pair_at(right + at + 2 * i);
    }
  }
  of_left.store(left_sums);
  of_right.store(right_sums);
  for (; at < count; ++at) {
    left_sums[at % 8] += row[at] * left[at];
    right_sums[at % 8] += row[at] * right[at];
  }
}

double total(const double* sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

RowProducts::RowProducts(std::span<const double> vectors, std::size_t columns, std::size_t squared)
    : vectors_(vectors),
      columns_(columns),
      squared_(squared),
      sums_(most_rows * (vectors.size() / columns) * lanes),
      squares_(most_rows * squared * lanes) {
  assert(squared <= vectors.size() / columns);
}

void RowProducts::add(const std::vector<double>& piece, std::size_t rows) {
  const std::size_t vectors = vectors_.size() / columns_;
  const std::size_t count = piece.size() / rows;
  assert(rows <= most_rows && column_ % lanes == 0 && column_ + count <= columns_);
  const auto vector_at = [&](std::size_t vector) {
    return vectors_.data() + vector * columns_ + column_;
  };
  const auto sums_at = [&](std::size_t row, std::size_t vector) {
    return sums_.data() + (row * vectors + vector) * lanes;
  };
  for (std::size_t vector = 0; vector < squared_; ++vector) {
    for (std::size_t row = 0; row < rows; ++row) {
      add_with_squares(piece.data() + row * count, vector_at(vector), count, sums_at(row, vector),
                       squares_.data() + (row * squared_ + vector) * lanes);
    }
  }
  std::array<double, lanes> unused{};  // of the second vector, where the last one is alone
  for (std::size_t vector = squared_; vector < vectors; vector += 2) {
    const bool is_alone = vector + 1 == vectors;
    for (std::size_t row = 0; row < rows; ++row) {
      add_two(piece.data() + row * count, vector_at(vector),
              vector_at(is_alone ? vector : vector + 1), count, sums_at(row, vector),
              is_alone ? unused.data() : sums_at(row, vector + 1));
    }
  }
  column_ += count;
}

void RowProducts::start() {
  column_ = 0;
  std::ranges::fill(sums_, 0.0);
  std::ranges::fill(squares_, 0.0);
}

double RowProducts::sum(std::size_t row, std::size_t vector) const {
  return total(sums_.data() + (row * (vectors_.size() / columns_) + vector) * lanes);
}

double RowProducts::sum_of_squares(std::size_t row, std::size_t vector) const {
  return total(squares_.data() + (row * squared_ + vector) * lanes);
}

}  // namespace hiptool::reference
