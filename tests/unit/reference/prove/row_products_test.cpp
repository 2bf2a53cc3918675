// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "reference/prove/row_products.hpp"

using hiptool::reference::RowProducts;

namespace {

std::vector<double> numbers(std::size_t count, double step) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(std::sin(step * double(i) + 1));
  return values;
}

// Element i goes into sum i mod 8; then the sums are added in pairs.
double expected_sum(const double* row, const double* vector, std::size_t count, bool is_squared) {
  double sums[8] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const double term = row[i] * vector[i];
    sums[i % 8] += is_squared ? term * term : term;
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

TEST_CASE("row products: the bits of eight sums, whatever the pieces, rows and vectors") {
  for (const std::size_t columns : {1u, 7u, 8u, 96u, 163u, 2051u}) {
    for (const std::size_t vectors : {1u, 2u, 5u}) {
      for (std::size_t squared = 0; squared <= vectors; ++squared) {
        CAPTURE(columns);
        CAPTURE(squared);
        const std::vector<double> all = numbers(vectors * columns, 0.7);
        RowProducts products(all, columns, squared);
        for (const std::size_t piece_columns : {std::size_t{64}, RowProducts::piece_columns}) {
          for (std::size_t rows = 1; rows <= RowProducts::most_rows; ++rows) {
            const std::vector<double> weights = numbers(rows * columns, 0.37);
            products.start();
            for (std::size_t at = 0; at < columns; at += piece_columns) {
              const std::size_t width = std::min(piece_columns, columns - at);
              std::vector<double> piece;
              for (std::size_t row = 0; row < rows; ++row) {
                const double* const first = weights.data() + row * columns + at;
                piece.insert(piece.end(), first, first + width);
              }
              products.add(piece, rows);
            }
            for (std::size_t row = 0; row < rows; ++row) {
              for (std::size_t vector = 0; vector < vectors; ++vector) {
                const double* const weight = weights.data() + row * columns;
                const double* const x = all.data() + vector * columns;
                CHECK(products.sum(row, vector) == expected_sum(weight, x, columns, false));
                if (vector >= squared) continue;
                CHECK(products.sum_of_squares(row, vector) ==
                      expected_sum(weight, x, columns, true));
              }
            }
          }
        }
      }
    }
  }
}
