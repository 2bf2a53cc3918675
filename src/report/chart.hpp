// SPDX-License-Identifier: MIT
/// Drawings of measurements, as SVG.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/matrix.hpp"

namespace hiptool::report {

struct ChartPoint {
  std::uint64_t size_bytes = 0;  ///< above 0; not of a chart over time
  double per_s = 0;
  double at_s = 0;  ///< of a chart over time, since its beginning
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  ///< by size, at least one
};

struct ChartBar {
  std::string name;
  double per_s = 0;
  double limit_per_s = 0;   ///< drawn as a mark; 0: unknown
  std::string failed = {};  ///< the word in place of the rate of what failed; empty: it did not
};

/// Rates over sizes, or over time, if there are series, else bars.
struct Chart {
  std::string title;
  Unit unit = Unit::rate;  ///< of all numbers: bytes or operations per second
  std::vector<ChartSeries> series;
  std::vector<ChartBar> bars;
  std::string mark = "limit";  ///< what the marks of bars are
  bool is_over_time = false;
};

/// The charts of a document: rates of two sizes or more over the size, others as bars, operations
/// apart from bytes, what stays in a device apart from links; pairs of devices that make a matrix
/// are left to the heat map; rates of each second as curves over time, a chart for each label. What
/// failed is a bar without length that says so. At most eight series and thirty bars in a chart, so
/// that each can be read. Each chart has one scale.
std::vector<Chart> charts_of(const std::vector<Measurement>& measurements);

/// The charts of a comparison, new rates with the old ones as marks, and of a merge, medians with
/// the least as marks; bytes apart from operations, at most thirty bars each.
std::vector<Chart> charts_of_runs(const Report& report);

struct Drawing {
  std::string elements;  ///< inside <svg>, from (0, 0) on
  double width = 0;
  double height = 0;
};

Drawing draw(const Chart& chart);

/// The matrix as coloured fields with their rates in GB/s, a row for each source.
Drawing draw(const Matrix& matrix);

/// The rules of style that drawings need, for light and dark; scoped to `.chart`.
std::string_view chart_style() noexcept;

}  // namespace hiptool::report
