// SPDX-License-Identifier: MIT
#include "report/heat_map.hpp"

#include <algorithm>

#include "report/markup.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

constexpr double cell_width = 64;
constexpr double cell_height = 26;
constexpr double top = 60;

}  // namespace

Drawing draw_heat_map(const Matrix& matrix) {
  const Table table = table_of(matrix);
  std::size_t longest = display_width(table.columns.front().title);
  for (const auto& row : table.rows) {
    longest = std::max(longest, display_width(format_value(row.front(), Unit::none)));
  }
  const double left = 32 + 7 * static_cast<double>(longest);
  std::string elements = label(16, 20, "title", matrix.title);
  elements += label(left - 10, top - 8, "end faint", table.columns.front().title);
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    const double x = left + cell_width * (static_cast<double>(column) - 0.5);
    elements += label(x, top - 8, "middle", table.columns[column].title);
  }
  double y = top;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    elements += label(left - 10, y + 17, "end", format_value(table.rows[row][0], Unit::none));
    for (std::size_t column = 1; column < table.columns.size(); ++column) {
      const double x = left + cell_width * static_cast<double>(column - 1);
      const auto& rate = matrix.bytes_per_s[row][column - 1];
      const double share = rate ? 0.6 * strength(matrix, *rate) : 0;
      elements += element("rect", {at("x", x + 1), at("y", y + 1), at("width", cell_width - 2),
                                   at("height", cell_height - 2), attribute("class", "heat"),
                                   at("fill-opacity", share)});
      elements += label(x + cell_width / 2, y + 17, "middle",
                        format_value(table.rows[row][column], Unit::none));
    }
    y += cell_height;
  }
  const auto columns = static_cast<double>(matrix.destinations.size());
  return {std::move(elements), left + cell_width * columns + 16, y + 24};
}

}  // namespace hiptool::report
