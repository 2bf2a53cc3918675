// SPDX-License-Identifier: MIT
#include "check_report.hpp"

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/error.hpp"
#include "report/text.hpp"
#include "report/tree.hpp"

namespace hiptool::fuzz {
namespace {

void require(bool holds, const char* rule, std::string_view where = {}) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %s: %.*s\n", rule, static_cast<int>(where.size()),
               where.data());
  std::abort();
}

// Lines of text that steer no terminal and are UTF-8.
void check_lines(std::string_view text) {
  require(!text.empty() && text.back() == '\n', "a text ends with a line end");
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    require(report::printable(line) == line, "a line is printable", line);
    text.remove_prefix(line.size() + 1);
  }
}

void check_json(const std::string& text) {
  try {
    report::parse_json(text, "what was written");
  } catch (const Error& error) {
    // A document is at most as deep as the reader takes, some writers put it one level deeper.
    require(std::string_view(error.what()).find("levels") != std::string_view::npos,
            "what is written as JSON can be read", error.what());
  }
}

bool is_number(std::string_view text) {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec != std::errc::invalid_argument && result.ptr == text.data() + text.size();
}

void check_cell(const std::string& cell) {
  const auto first = cell.find_first_not_of(' ');
  if (first == std::string::npos || is_number(cell)) return;
  require(std::string_view("=+-@\t\r").find(cell[first]) == std::string_view::npos,
          "no cell of CSV is a formula", cell);
}

// RFC 4180.
void check_csv(std::string_view text) {
  check_lines(text);
  std::size_t columns = 0;
  while (!text.empty()) {
    std::size_t cells = 0;
    bool is_end = false;
    while (!is_end) {
      std::string cell;
      if (text.starts_with('"')) {
        for (text.remove_prefix(1);; text.remove_prefix(1)) {
          require(!text.empty(), "a quoted cell ends");
          if (text.starts_with("\"\""))
            text.remove_prefix(1);
          else if (text.front() == '"')
            break;
          cell += text.front();
        }
        text.remove_prefix(1);
      } else {
        cell = text.substr(0, text.find_first_of(",\n"));
        require(cell.find('"') == std::string::npos, "a quote stands in a quoted cell");
        text.remove_prefix(cell.size());
      }
      check_cell(cell);
      ++cells;
      require(text.starts_with(',') || text.starts_with('\n'), "a cell ends");
      is_end = text.front() == '\n';
      text.remove_prefix(1);
    }
    require(columns == 0 || cells == columns, "all rows of CSV have as many cells");
    columns = cells;
  }
}

enum class Markup { html, svg, junit };

// Tags are closed in order; what has no end tag in HTML may be open.
void check_markup(std::string_view text, Markup kind) {
  const bool is_html = kind == Markup::html;
  check_lines(text);
  std::vector<std::string_view> open;
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string_view::npos;) {
    const std::size_t end = text.find('>', at);
    require(end != std::string_view::npos, "a tag ends");
    std::string_view tag = text.substr(at + 1, end - at - 1);
    at = end;
    if (tag.starts_with('?') || tag.starts_with('!') || tag.ends_with('/')) continue;
    for (const char* number : {"=\"nan", "=\"-nan", "=\"inf", "=\"-inf"}) {
      require(kind != Markup::svg || tag.find(number) == std::string_view::npos,
              "no place in a drawing is not a number", tag);
    }
    const std::string_view name = tag.substr(0, tag.find(' '));
    if (is_html && (name == "meta" || name == "p" || name == "li")) continue;
    if (!name.starts_with('/')) {
      open.push_back(name);
    } else if (!is_html || (name != "/p" && name != "/li")) {
      require(!open.empty() && open.back() == name.substr(1), "tags are closed in order", tag);
      open.pop_back();
    }
  }
  require(open.empty(), "all tags are closed");
}

}  // namespace

void check_report(const report::Report& report, std::uint8_t format) {
  const auto is_wanted = [format](std::uint8_t one) {
    return format % 13 == 0 || format % 13 == one;
  };
  if (is_wanted(1)) check_json(report::to_json(report));
  if (is_wanted(2)) check_csv(report::to_csv(report));
  if (is_wanted(3)) check_lines(report::to_table(report, {80, false, true}));
  if (is_wanted(4)) check_lines(report::to_table(report, {20, false, false}));
  if (is_wanted(5)) check_lines(report::to_markdown(report));
  if (is_wanted(6)) check_markup(report::to_html(report), Markup::html);
  if (is_wanted(7)) check_markup(report::to_svg(report), Markup::svg);
  if (is_wanted(8)) check_json(report::to_gbench(report));
  if (is_wanted(9)) check_json(report::to_gha(report));
  if (is_wanted(10)) check_json(report::to_bmf(report));
  if (is_wanted(11)) check_markup(report::to_junit(report), Markup::junit);
  if (is_wanted(12)) check_lines(report::to_prom(report));
}

}  // namespace hiptool::fuzz
