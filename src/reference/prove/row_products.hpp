// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace hiptool::reference {

/// Products of some rows with vectors, in float64. The columns come in pieces that fit a
/// processor's cache, so that each row is used with all vectors, and each vector with all rows,
/// while they are there. Eight partial sums of a product, which a processor can add two or four at
/// a time, are added in the same order everywhere, whatever the pieces.
class RowProducts {
 public:
  static constexpr std::size_t most_rows = 4;
  static constexpr std::size_t piece_columns = 1024;  ///< whole blocks of any quantised type

  /// Of vectors of that many columns, one after the other; squares of terms are added up for the
  /// first `squared` of them.
  RowProducts(std::span<const double> vectors, std::size_t columns, std::size_t squared);

  /// The next piece of these rows, at most most_rows x piece_columns, row after row: the columns
  /// after those before. All pieces but the last have a multiple of 8 columns.
  void add(const std::vector<double>& piece, std::size_t rows);
  /// The next piece is of other rows.
  void start();

  double sum(std::size_t row, std::size_t vector) const;
  double sum_of_squares(std::size_t row, std::size_t vector) const;

 private:
  static constexpr std::size_t lanes = 8;

  std::span<const double> vectors_;
  std::size_t columns_;
  std::size_t squared_;
  std::size_t column_ = 0;       // of the next piece
  std::vector<double> sums_;     // row, vector, lane
  std::vector<double> squares_;  // row, one of the squared vectors, lane
};

}  // namespace hiptool::reference
