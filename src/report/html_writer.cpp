// SPDX-License-Identifier: MIT
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "report/chart.hpp"
#include "report/markup.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

constexpr std::string_view page_style = R"(:root{color-scheme:light dark}
body{font:15px/1.45 system-ui,"DejaVu Sans",sans-serif;margin:0;color:#222;background:#fff}
main{max-width:70rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem;margin:0 0 .75rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.verdict{font-size:1.15rem;font-weight:600;margin:.4rem 0;padding:.4rem .8rem;
border-left:.35rem solid #888}
.good{border-color:#009e73}.warning{border-color:#e69f00}.bad{border-color:#d55e00}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:1rem 0}
dt{color:#666}dd{margin:0}
.scroll{overflow-x:auto;margin-bottom:1.5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{white-space:nowrap}.number{text-align:right;white-space:nowrap}
svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#16181c}dt{color:#aaa}
th,td{border-color:#3a3d44}}
)";

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::good: return "verdict good";
    case Tone::warning: return "verdict warning";
    case Tone::bad: return "verdict bad";
    case Tone::plain: break;
  }
  return "verdict";
}

std::string title_of(const Run& run) {
  std::string title = "hiptool";
  if (!run.command.empty()) title += " " + run.command;
  if (!run.host.name.empty()) title += " on " + run.host.name;
  return title;
}

std::string summary(const Run& run) {
  const std::array<std::tuple<const char*, Value, Unit>, 10> rows{
      {{"status", text_or_absent(run.status), Unit::none},
       {"exit code", run.exit_code, Unit::none},
       {"started", text_or_absent(run.started_at), Unit::none},
       {"host", text_or_absent(run.host.name), Unit::none},
       {"processor", text_or_absent(run.host.cpu), Unit::none},
       {"cores", run.host.cores, Unit::count},
       {"memory", run.host.memory_bytes, Unit::size},
       {"kernel", text_or_absent(run.host.kernel), Unit::none},
       {"hiptool", text_or_absent(run.tool_version), Unit::none},
       {"error", text_or_absent(one_line(run.error_message())), Unit::none}}};
  std::string pairs;
  for (const auto& [name, value, unit] : rows) {
    if (value.is_absent()) continue;
    pairs.append("<dt>").append(name).append("</dt><dd>");
    pairs += markup_text(format_value(value, unit)) + "</dd>\n";
  }
  return pairs.empty() ? pairs : "<dl>\n" + pairs + "</dl>\n";
}

std::string heading(const std::string& title) {
  return title.empty() ? title : "<h2>" + markup_text(title) + "</h2>\n";
}

std::string background(double share) {
  return " style=\"background:rgba(0,114,178," + coordinate(0.6 * share) + ")\"";
}

std::string heat_style(const Table& table, std::size_t row, std::size_t column) {
  if (row >= table.heat.size() || column >= table.heat[row].size()) return {};
  const double heat = table.heat[row][column];
  return heat > 0 ? background(heat) : std::string();
}

std::string table_element(const Table& table) {
  if (table.columns.empty() || table.rows.empty()) {
    return table.title.empty() ? "" : heading(table.title) + "<p>(none)</p>\n";
  }
  std::string text = heading(table.title) + "<div class=\"scroll\"><table>\n<thead><tr>";
  std::vector<std::string> classes;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    classes.emplace_back(table.is_number_column(column) ? " class=\"number\"" : "");
    text += "<th scope=\"col\"" + classes.back() + ">" + markup_text(table.columns[column].title) +
            "</th>";
  }
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += "<tr>";
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const std::string value = format_value(table.at(row, column), table.columns[column].unit);
      text += "<td" + classes[column] + heat_style(table, row, column) + ">" + markup_text(value) +
              "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table></div>\n";
}

std::string heat_map(const Matrix& matrix) {
  const Table table = table_of(matrix);
  std::string text = heading(table.title) + "<div class=\"scroll\"><table class=\"heat\">\n<tr>";
  for (const Column& column : table.columns) {
    text += "<th scope=\"col\" class=\"number\">" + markup_text(column.title) + "</th>";
  }
  text += "</tr>\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += "<tr><th scope=\"row\" class=\"number\">" +
            markup_text(format_value(table.rows[row][0], Unit::none)) + "</th>";
    for (std::size_t column = 1; column < table.columns.size(); ++column) {
      const auto rate = matrix.bytes_per_s[row][column - 1];
      text += "<td class=\"number\"" + background(rate ? strength(matrix, *rate) : 0) + ">" +
              markup_text(format_value(table.rows[row][column], Unit::none)) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string charts(const std::vector<Measurement>& measurements) {
  std::string text;
  for (const Chart& chart : charts_of(measurements)) {
    const Drawing drawing = draw(chart);
    text += "<figure style=\"margin:1rem 0\"><svg class=\"chart\" role=\"img\"" +
            attribute("aria-label", chart.title) + svg_size(drawing.width, drawing.height) + ">\n" +
            drawing.elements + "</svg></figure>\n";
  }
  return text;
}

std::string notes(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    if (!line.text.empty()) text += "<li>" + markup_text(line.text) + "</li>\n";
  }
  return text.empty() ? text : "<h2>Notes</h2>\n<ul>\n" + text + "</ul>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const std::string title = markup_text(title_of(report.run));
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      (report.run.passed ? title : "FAILED: " + title) + "</title>\n<style>\n" +
      std::string(page_style) + std::string(chart_style()) +
      "</style>\n</head>\n<body>\n<main>\n<h1>" + title + "</h1>\n";
  for (const Line& line : verdict_lines(report)) {
    text += "<p class=\"" + std::string(tone_class(line.tone)) + "\">" + markup_text(line.text) +
            "</p>\n";
  }
  text += summary(report.run) + charts(report.measurements);
  const std::vector<Matrix> matrices = matrices_of(report.measurements);
  std::set<std::string_view> shown;
  for (const Matrix& matrix : matrices) {
    text += heat_map(matrix);
    shown.insert(matrix.title);
  }
  for (const Table& table : report.tables) {
    // A table that is a matrix has just been shown.
    if (shown.count(table.title) == 0) text += table_element(table);
  }
  return text + notes(report.notes) + "</main>\n</body>\n</html>\n";
}

}  // namespace hiptool::report
