// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

constexpr std::size_t gap = 2;              // blanks between columns
constexpr std::size_t smallest_value = 12;  // columns; a value with less goes below its key
// A single row that is wider and has more columns is read as a list.
constexpr std::size_t widest_single_row = 160;
constexpr std::size_t most_columns_of_single_row = 12;

using Grid = std::vector<std::vector<std::string>>;

// SGR parameters of ECMA-48 8.3.117.
std::string_view tone_code(Tone tone) {
  switch (tone) {
    case Tone::good: return "32";
    case Tone::warning: return "33";
    case Tone::bad: return "31";
    case Tone::plain: break;
  }
  return "";
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.data()) ||
         std::holds_alternative<std::uint64_t>(value.data()) ||
         std::holds_alternative<double>(value.data());
}

constexpr const char* bold_code = "1";

std::string colored(std::string_view text, std::string_view code) {
  if (code.empty() || text.empty()) return std::string(text);
  return std::string("\x1b[").append(code).append("m").append(text).append("\x1b[0m");
}

class Writer {
 public:
  explicit Writer(const TableStyle& style) : style_(style) {}

  void add_lines(const std::vector<Line>& lines) {
    if (lines.empty()) return;
    separate();
    for (const Line& line : lines) add_wrapped(printable(line.text), 2, tone_code(line.tone));
  }

  void add_table(const Table& whole) {
    if (whole.is_detail && style_.height > 0) return;
    std::optional<Table> fitted;
    const Table& table = fit(whole, fitted);
    const bool is_empty = table.rows.empty() || table.columns.empty();
    if (is_empty && table.title.empty()) return;
    separate();
    if (!table.title.empty()) add_wrapped(printable(table.title), 2, bold_code);
    if (is_empty) {
      add_line("(none)", "");
      return;
    }
    Grid grid = formatted(table);
    std::vector<std::size_t> widths = widths_of(grid);
    if (widths.size() == 2 && grid[0][0].empty() && grid[0][1].empty()) {
      for (std::size_t row = 1; row < grid.size(); ++row) {
        add_pair(grid[row][0], widths[0], grid[row][1], 0);
      }
      return;
    }
    std::size_t total = sum_of(widths);
    if (total > style_.width) total -= cut_inner(table, total - style_.width, grid, widths);
    const std::size_t others = total - widths.back();
    if (total > style_.width && table.columns.back().may_be_cut &&
        others + smallest_value <= style_.width) {
      widths.back() = style_.width - others;
      for (auto& line : grid) line.back() = shorten(line.back(), widths.back());
      total = style_.width;
    }
    const bool is_list =
        grid.size() == 2 && total > widest_single_row && widths.size() > most_columns_of_single_row;
    if (total <= style_.width && !is_list) {
      add_grid(table, grid, widths);
    } else {
      add_lists(grid);
    }
  }

  std::size_t lines() const {
    return static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'));
  }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!text_.empty()) text_ += '\n';
  }

  static std::size_t sum_of(const std::vector<std::size_t>& widths) {
    return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  }

  // The table, without columns that may be left out where the terminal is too narrow for them.
  const Table& fit(const Table& whole, std::optional<Table>& fitted) const {
    for (std::size_t column = whole.columns.size(); column-- > 0;) {
      if (!whole.columns[column].may_be_left_out) continue;
      const Table& table = fitted ? *fitted : whole;
      if (sum_of(widths_of(formatted(table))) <= style_.width) break;
      if (!fitted) fitted = whole;
      fitted->remove_column(column);
    }
    return fitted ? *fitted : whole;
  }

  // Saves this many columns if it can; returns by how many the table became narrower.
  static std::size_t cut_inner(const Table& table, std::size_t excess, Grid& grid,
                               std::vector<std::size_t>& widths) {
    constexpr std::size_t kept_columns = 21;  // 16 digits and dots
    std::size_t saved = 0;
    for (std::size_t column = 0; column + 1 < widths.size(); ++column) {
      if (!table.columns[column].may_be_cut || widths[column] <= kept_columns) continue;
      const std::size_t cut = std::min(widths[column] - kept_columns, excess - saved);
      widths[column] -= cut;
      for (auto& line : grid) line[column] = shorten(line[column], widths[column]);
      saved += cut;
    }
    return saved;
  }

  void add_line(std::string_view line, std::string_view code) {
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    const std::size_t lead = std::min(line.find_first_not_of(' '), line.size());
    text_.append(line.substr(0, lead));
    text_ += style_.color ? colored(line.substr(lead), code) : std::string(line.substr(lead));
    text_ += '\n';
  }

  void add_wrapped(std::string_view text, std::size_t indent, std::string_view code) {
    for (const std::string& line : wrap(text, style_.width, indent)) add_line(line, code);
  }

  /// Titles, then one line for each row.
  Grid formatted(const Table& table) const {
    Grid grid(1);
    for (const Column& column : table.columns) grid[0].push_back(printable(column.title));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      auto& line = grid.emplace_back();
      for (std::size_t column = 0; column < table.columns.size(); ++column) {
        line.push_back(
            format_value(table.at(row, column), table.columns[column].unit, style_.unicode));
      }
    }
    return grid;
  }

  static std::vector<std::size_t> widths_of(const Grid& grid) {
    std::vector<std::size_t> widths(grid[0].size(), 0);
    for (const auto& line : grid) {
      for (std::size_t column = 0; column < line.size(); ++column) {
        widths[column] = std::max(widths[column], display_width(line[column]));
      }
    }
    return widths;
  }

  void add_grid(const Table& table, const Grid& grid, const std::vector<std::size_t>& widths) {
    std::vector<bool> is_right;
    for (std::size_t column = 0; column < widths.size(); ++column) {
      is_right.push_back(table.is_number_column(column));
    }
    for (std::size_t row = 0; row < grid.size(); ++row) {
      std::string line;
      for (std::size_t column = 0; column < widths.size(); ++column) {
        const std::string& field = grid[row][column];
        const std::string padding(widths[column] - display_width(field), ' ');
        const Tone tone = row > 0 ? table.tone_at(row - 1, column) : Tone::plain;
        if (column > 0) line.append(gap, ' ');
        if (is_right[column]) line += padding;
        line += style_.color ? colored(field, tone_code(tone)) : field;
        if (!is_right[column]) line += padding;
      }
      add_line(line, row == 0 ? bold_code : "");
    }
  }

  /// For rows that are too wide for columns: nothing is cut, each becomes a list of its own.
  void add_lists(const Grid& grid) {
    const std::vector<std::string>& keys = grid[0];
    std::size_t key_width = 0;
    for (std::size_t i = 1; i < keys.size(); ++i) {
      key_width = std::max(key_width, display_width(keys[i]));
    }
    for (std::size_t row = 1; row < grid.size(); ++row) {
      const std::string& lead = keys[0];
      const std::string title = lead.empty() ? grid[row][0] : lead + " " + grid[row][0];
      add_wrapped(title, 2, bold_code);
      for (std::size_t i = 1; i < keys.size(); ++i) add_pair(keys[i], key_width, grid[row][i], 2);
    }
  }

  void add_pair(const std::string& key, std::size_t key_width, const std::string& value,
                std::size_t key_start) {
    const std::size_t value_start = key_start + key_width + gap;
    if (value_start + smallest_value <= style_.width) {
      const std::string lead =
          std::string(key_start, ' ').append(key).append(key_width + gap - display_width(key), ' ');
      const std::string indent(value_start, ' ');
      bool is_first = true;
      for (const std::string& line : wrap(value, style_.width - value_start, 0)) {
        add_line((is_first ? lead : indent) + line, "");
        is_first = false;
      }
      return;
    }
    add_indented(key, key_start);
    add_indented(value, key_start + 2);
  }

  void add_indented(const std::string& text, std::size_t indent) {
    const std::size_t width = style_.width > indent ? style_.width - indent : 1;
    for (const std::string& line : wrap(text, width, 0)) {
      add_line(std::string(indent, ' ') + line, "");
    }
  }

  const TableStyle& style_;
  std::string text_;
};

}  // namespace

const Value& Table::at(std::size_t row, std::size_t column) const {
  static const Value absent;
  return column < rows[row].size() ? rows[row][column] : absent;
}

void Table::remove_column(std::size_t column) {
  const auto erase = [column](auto& row) {
    if (column < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  };
  erase(columns);
  for (auto& row : rows) erase(row);
  for (auto& row : heat) erase(row);
  for (auto& row : tones) erase(row);
}

Tone Table::tone_at(std::size_t row, std::size_t column) const {
  return row < tones.size() && column < tones[row].size() ? tones[row][column] : Tone::plain;
}

bool Table::is_number_column(std::size_t column) const {
  if (columns[column].unit != Unit::none) return true;
  bool has_number = false;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Value& value = at(row, column);
    if (!is_number(value) && !value.is_absent()) return false;
    has_number = has_number || is_number(value);
  }
  return has_number;
}

std::string to_table(const Report& report, const TableStyle& style) {
  Writer writer(style);
  const std::vector<Line> verdict = verdict_lines(report);
  writer.add_lines(verdict);
  for (const Table& table : report.tables) writer.add_table(table);
  writer.add_lines(report.notes);
  const bool has_scrolled = style.height > 0 && writer.lines() + 1 > style.height;  // with a prompt
  if (has_scrolled && !verdict.empty()) writer.add_lines({verdict.front()});
  return writer.take();
}

}  // namespace hiptool::report
