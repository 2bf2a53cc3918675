// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/library/product_judge.hpp"

namespace hiptool::measure {
namespace {

/// The marked rows or columns.
struct Marks {
  explicit Marks(const std::vector<bool>& marked) : size(marked.size()) {
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < marked.size(); ++i) {
      if (!marked[i]) continue;
      if (count == 0) first = i;
      if (count == 1) step = i - last;
      is_even = is_even && (count < 2 || i - last == step);
      last = i;
      ++count;
    }
    length = count == 0 ? 0 : last - first + 1;
    // Wrong by chance right: a gap here and there does not make them several.
    is_run = count * 8 >= length * 7;
  }

  bool is_all() const { return is_run && first == 0 && length == size; }

  /// "row 5", "every row from 4096", "rows 64 to 127", "every 2nd row from 1".
  std::string text(const std::string& name) const {
    if (count == 1) return name + " " + std::to_string(first);
    if (is_run && first + length == size) return "every " + name + " from " + std::to_string(first);
    if (is_run) {
      return name + "s " + std::to_string(first) + " to " + std::to_string(first + length - 1);
    }
    if (is_even && count > 2) {
      return "one " + name + " in " + std::to_string(step) + " from " + std::to_string(first);
    }
    return base::count_of(count, name) + " from " + std::to_string(first) + " to " +
           std::to_string(first + length - 1);
  }

  std::uint64_t size;
  std::uint64_t first = 0;
  std::uint64_t step = 0;
  std::uint64_t count = 0;
  std::uint64_t length = 0;
  bool is_even = true;
  bool is_run = true;
};

}  // namespace

std::string describe_places(const std::vector<bool>& rows, const std::vector<bool>& columns,
                            std::uint64_t count, std::uint64_t judged, const PlaceNames& names) {
  const Marks of_rows(rows);
  const Marks of_columns(columns);
  if (of_rows.count == 0 || of_columns.count == 0) return {};
  const std::string at =
      "[" + std::to_string(of_rows.first) + "," + std::to_string(of_columns.first) + "]";
  if (of_rows.count == 1 && of_columns.count == 1) return "one element at " + at;
  // Marked rows times marked columns, as a part of the rectangle.
  const double crossings = static_cast<double>(of_rows.count) /
                           static_cast<double>(of_rows.length) *
                           static_cast<double>(of_columns.count) /
                           static_cast<double>(of_columns.length) * static_cast<double>(judged);
  if (static_cast<double>(count) >= 0.7 * crossings) {
    if (of_rows.is_all() && of_columns.is_all()) {
      if (static_cast<double>(count) >= 0.98 * static_cast<double>(judged)) return "every element";
      return "scattered, " +
             format_share(static_cast<double>(count) / static_cast<double>(judged)) +
             " of the elements";
    }
    if (of_columns.is_all()) return of_rows.text(names.row);
    if (of_rows.is_all()) return of_columns.text(names.column);
    if (of_rows.is_run && of_columns.is_run) {
      return std::to_string(of_rows.length) + "x" + std::to_string(of_columns.length) +
             " block at " + at;
    }
    return of_rows.text(names.row) + ", " + of_columns.text(names.column);
  }
  std::string text = "scattered";
  if (!of_rows.is_all() || !of_columns.is_all()) {
    text += " in the " + std::to_string(of_rows.length) + "x" + std::to_string(of_columns.length) +
            " elements from " + at;
  }
  return text;
}

}  // namespace hiptool::measure
