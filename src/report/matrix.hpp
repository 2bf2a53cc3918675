// SPDX-License-Identifier: MIT
/// Measurements between devices as nvbandwidth shows them: a row for each source, a column for each
/// destination.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

struct Matrix {
  std::string label;  ///< of its measurements
  std::string title;  ///< "p2p-read.copy.256MiB: from row to column, GB/s"
  std::vector<std::string> sources;
  std::vector<std::string> destinations;
  std::vector<std::vector<std::optional<double>>> bytes_per_s;  ///< by source, then destination
  double largest_bytes_per_s = 0;
  /// Medians, of a matrix of latencies, which has no rates; else empty.
  std::vector<std::vector<std::optional<double>>> latency_s;
  /// Those that failed or gave wrong data; empty: none.
  std::vector<std::vector<bool>> failed;

  bool has_failed(std::size_t row, std::size_t column) const {
    return !failed.empty() && failed[row][column];
  }
};

/// The measurements between devices, a matrix for each kind, memory, engine and size with two
/// sources and two destinations at least, unless more than three of four places would be empty:
/// such a matrix may be many times as large as the document. Measurements that are not "ok" have no
/// number.
std::vector<Matrix> matrices_of(const std::vector<Measurement>& measurements);

/// A rate as a share of the matrix's fastest one, 0 to 1, so that a slow link is visible and the
/// small differences of the others are not.
double strength(const Matrix& matrix, double bytes_per_s);

/// For people: GB/s or microseconds with two decimals. Devices of one platform are shown by their
/// ordinals alone, so that eight of them fit into 80 columns. Those that failed are "FAILED".
Table table_of(const Matrix& matrix);

}  // namespace hiptool::report
