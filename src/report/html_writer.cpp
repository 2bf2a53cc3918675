// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/chart.hpp"
#include "report/markup.hpp"
#include "report/reader.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

constexpr std::string_view page_style = R"(:root{color-scheme:light dark;
--text:#222;--faint:#5f6368;--back:#fff;--line:#ddd;--shade:#f5f6f8;
--good:#00694b;--warning:#7a5200;--bad:#a83f00}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,"DejaVu Sans",sans-serif;margin:0;color:var(--text);
background:var(--back)}
main{max-width:70rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.4rem;margin:0 0 .75rem}
h2{font-size:1.1rem;margin:2rem 0 .5rem;break-after:avoid}
.verdict{margin:.4rem 0;padding:.3rem .8rem;border-left:.35rem solid #888;
overflow-wrap:anywhere;white-space:pre-line}
h1 + .verdict{font-size:1.15rem;font-weight:600;padding:.6rem .8rem;background:var(--shade)}
td.good-cell{color:var(--good)}td.warning-cell{color:var(--warning)}
td.bad-cell{color:var(--bad);font-weight:600}
.good{border-color:#009e73}.warning{border-color:#e69f00}.bad{border-color:#d55e00}
.pairs{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1.2rem;margin:.8rem 0}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.6rem 1.2rem;
margin:1.2rem 0;padding:.8rem;border:1px solid var(--line);border-radius:.4rem}
dt{color:var(--faint)}.facts dt{font-size:.85rem}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin-bottom:1.5rem}
figure{margin:1rem 0;break-inside:avoid}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{white-space:nowrap}.number{text-align:right;white-space:nowrap}
tr{break-inside:avoid}thead{display:table-header-group}
svg{max-width:100%;height:auto}
footer{margin-top:2rem;color:var(--faint);font-size:.85rem}
@media screen and (prefers-color-scheme:dark){:root{--text:#ddd;--faint:#aaa;--back:#16181c;
--line:#3a3d44;--shade:#22252b;--good:#4cc9a0;--warning:#e6b450;--bad:#ff9a5c}}
@media print{@page{margin:14mm}body{font-size:10pt}main{max-width:none;padding:0}
.scroll{overflow:visible}th,td{padding:.15rem .4rem;overflow-wrap:anywhere}
td,.verdict,h1 + .verdict{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
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

/// A comparison or merge is about other machines than the one that it ran on.
bool is_of_other_runs(const Run& run) { return run.command == "report"; }

std::string title_of(const Report& report) {
  std::string title = "hiptool";
  if (!report.run.command.empty()) title += " " + report.run.command;
  if (is_of_other_runs(report.run)) return title + " " + text_of(member(report.document, "action"));
  if (!report.run.host.name.empty()) title += " on " + report.run.host.name;
  return title;
}

std::string pair_element(std::string_view name, std::string_view text) {
  return "<dt>" + markup_text(name) + "</dt><dd>" + markup_text(text) + "</dd>";
}

std::string facts(const Report& report) {
  const Run& run = report.run;
  const Host host = is_of_other_runs(run) ? Host() : run.host;
  const std::array<std::tuple<const char*, Value, Unit>, 9> rows{
      {{"exit code", run.exit_code, Unit::none},
       {"status", text_or_absent(run.status), Unit::none},
       {"started", text_or_absent(run.started_at), Unit::none},
       {"host", text_or_absent(host.name), Unit::none},
       {"processor", text_or_absent(host.cpu), Unit::none},
       {"cores", host.cores, Unit::count},
       {"memory", host.memory_bytes, Unit::size},
       {"kernel", text_or_absent(host.kernel), Unit::none},
       {"error", text_or_absent(one_line(run.error_message())), Unit::none}}};
  std::string pairs;
  for (const auto& [name, value, unit] : rows) {
    if (value.is_absent()) continue;
    pairs += "<div>" + pair_element(name, format_value(value, unit)) + "</div>\n";
  }
  return pairs.empty() ? pairs : "<dl class=\"facts\">\n" + pairs + "</dl>\n";
}

/// A line like "digest  0f3e": what it is of, two blanks, and the value; else an empty name.
std::pair<std::string_view, std::string_view> named_value(std::string_view line) {
  const std::size_t gap = line.find("  ");
  if (gap == 0 || gap == std::string_view::npos) return {};
  const std::string_view name = line.substr(0, gap);
  const bool is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz ") == std::string::npos;
  return is_word ? std::pair(name, line.substr(line.find_first_not_of(' ', gap)))
                 : std::pair(std::string_view(), std::string_view());
}

/// The verdict is the first line as it is; named values below it make a list.
std::string verdict_elements(const Report& report) {
  std::string text;
  std::string pairs;
  const auto end_pairs = [&] {
    if (!pairs.empty()) text += "<dl class=\"pairs\">\n" + pairs + "</dl>\n";
    pairs.clear();
  };
  bool is_first = true;
  for (const Line& line : verdict_lines(report)) {
    const auto [name, value] = named_value(line.text);
    const bool is_pair = !is_first && !name.empty() && line.tone == Tone::plain;
    is_first = false;
    if (is_pair) {
      pairs += pair_element(name, value) + "\n";
      continue;
    }
    end_pairs();
    text += "<p class=\"" + std::string(tone_class(line.tone)) + "\">" + markup_text(line.text) +
            "</p>\n";
  }
  end_pairs();
  return text;
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

/// The attribute `class` of a cell; empty for a plain one.
std::string cell_class(const Table& table, std::size_t row, std::size_t column, bool is_number) {
  std::string_view tone;
  switch (table.tone_at(row, column)) {
    case Tone::good: tone = "good-cell"; break;
    case Tone::warning: tone = "warning-cell"; break;
    case Tone::bad: tone = "bad-cell"; break;
    case Tone::plain: break;
  }
  std::string names = is_number ? "number" : "";
  if (!tone.empty()) names.append(names.empty() ? "" : " ").append(tone);
  return names.empty() ? names : attribute("class", names);
}

std::string table_element(const Table& table) {
  if (table.columns.empty() || table.rows.empty()) {
    return table.title.empty() ? "" : heading(table.title) + "<p>(none)</p>\n";
  }
  std::string text = heading(table.title) + "<div class=\"scroll\"><table>\n<thead><tr>";
  std::vector<bool> is_number;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    is_number.push_back(table.is_number_column(column));
    text += std::string("<th scope=\"col\"") + (is_number.back() ? " class=\"number\"" : "") + ">" +
            markup_text(table.columns[column].title) + "</th>";
  }
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += "<tr>";
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const std::string value = format_value(table.at(row, column), table.columns[column].unit);
      text += "<td" + cell_class(table, row, column, is_number[column]) +
              heat_style(table, row, column) + ">" + markup_text(value) + "</td>";
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
      text += "<td" + cell_class(table, row, column, true) +
              background(rate ? strength(matrix, *rate) : 0) + ">" +
              format_value(table.rows[row][column], table.columns[column].unit) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string charts(const Report& report) {
  std::string text;
  for (const Chart& chart :
       is_of_other_runs(report.run) ? charts_of_runs(report) : charts_of(report.measurements)) {
    const Drawing drawing = draw(chart);
    text += "<figure><svg class=\"chart\" role=\"img\"" + attribute("aria-label", chart.title) +
            svg_size(drawing.width, drawing.height) + ">\n" + drawing.elements +
            "</svg></figure>\n";
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

/// "2 x NVIDIA H200, 1 x cpu", and the versions of a field, each once.
std::string counted_names(const Array& devices) {
  std::map<std::string, std::size_t> counts;
  for (const Value& device : devices) {
    const std::string name = text_of(member(device, "name"));
    ++counts[name.empty() ? text_of(member(device, "id")) : name];
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + name;
  }
  return text;
}

std::string distinct_texts(const Array& devices, const std::string& field) {
  std::set<std::string> known;
  std::string text;
  for (const Value& device : devices) {
    if (field == "runtime" && !shows_runtime(text_of(member(device, "id")))) continue;
    const std::string version = text_of(member(device, field));
    if (version.empty() || !known.insert(version).second) continue;
    text += (text.empty() ? "" : ", ") + version;
  }
  return text;
}

/// What a comparison or merge was given: a line for each run.
Table runs_table(const Object& document) {
  Table table{"Measured on",
              {{"run", "Run", Unit::none},
               {"host", "Host", Unit::none},
               {"devices", "Devices", Unit::none},
               {"driver", "Driver", Unit::none},
               {"runtime", "Runtime", Unit::none},
               {"started_at", "Started", Unit::none},
               {"path", "File", Unit::none}},
              {}};
  const auto add = [&table](const Value& run, const std::string& name) {
    const Array& devices = elements(member(run, "devices"));
    table.rows.push_back({name, text_or_absent(text_of(member(run, "host"))),
                          text_or_absent(counted_names(devices)),
                          text_or_absent(distinct_texts(devices, "driver")),
                          text_or_absent(distinct_texts(devices, "runtime")),
                          text_or_absent(text_of(member(run, "started_at"))),
                          text_or_absent(text_of(member(run, "path")))});
  };
  for (const char* side : {"old", "new"}) {
    if (const Value& run = member(document, side); !run.is_absent()) add(run, side);
  }
  for (const Value& run : elements(member(document, "files"))) {
    add(run, text_of(member(run, "kind")));
  }
  return table;
}

std::string measured_on(const Report& report) {
  Table table = is_of_other_runs(report.run) ? runs_table(report.document)
                                             : devices_table(device_texts(report.document));
  table.title = "Measured on";
  return table.rows.empty() ? std::string() : table_element(table);
}

constexpr std::array<std::string_view, 5> severities{"fail", "warn", "info", "unknown", "pass"};

/// The checks of `devices --doctor`, the worst ones first.
std::string doctor_checks(const Report& report) {
  Table table{"Checks",
              {{"severity", "Severity", Unit::none},
               {"id", "Check", Unit::none},
               {"device", "Device", Unit::none},
               {"read", "Read", Unit::none},
               {"expected", "Expected", Unit::none},
               {"fix", "Fix", Unit::none},
               {"code", "Code", Unit::none},
               {"action_class", "Action", Unit::none}},
              {}};
  for (const std::string_view severity : severities) {
    for (const Check& check : report.checks) {
      if (check.severity != severity) continue;
      table.rows.push_back({check.severity, check.id, text_or_absent(check.device), check.read,
                            text_or_absent(check.expected), text_or_absent(check.fix),
                            text_or_absent(check.code), text_or_absent(check.action_class)});
    }
  }
  return table_element(table);
}

/// Notes like "unknown xid, uvm: no driver" with their further lines, which a terminal shows in
/// place of the table, are left out.
std::vector<Line> without_checks(const Report& report) {
  std::set<std::string_view> starts;
  for (const Check& check : report.checks) starts.insert(check.id);
  std::vector<Line> kept;
  bool is_of_check = false;
  for (const Line& line : report.notes) {
    const std::string_view text = line.text;
    if (!is_of_check || !text.starts_with("  ")) {
      const std::size_t gap = std::min(text.find(' '), text.size());
      const std::string_view rest = text.substr(std::min(gap + 1, text.size()));
      is_of_check = std::find(severities.begin(), severities.end(), text.substr(0, gap)) !=
                        severities.end() &&
                    starts.count(rest.substr(0, rest.find_first_of(",:"))) > 0;
    }
    if (!is_of_check) kept.push_back(line);
  }
  return kept;
}

std::string footer(const Run& run) {
  if (run.tool_version.empty()) return {};
  const std::string commit = run.tool_commit.empty() ? "" : " (" + run.tool_commit + ")";
  return "<footer>written by hiptool " + markup_text(run.tool_version + commit) + "</footer>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const std::string title = markup_text(title_of(report));
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      (report.run.passed ? title : "FAILED: " + title) + "</title>\n<style>\n" +
      std::string(page_style) + std::string(chart_style()) +
      "</style>\n</head>\n<body>\n<main>\n<h1>" + title + "</h1>\n" + verdict_elements(report) +
      facts(report) + measured_on(report);
  std::string pictures = charts(report);
  const std::vector<Matrix> matrices = matrices_of(report.measurements);
  std::set<std::string_view> shown;
  for (const Matrix& matrix : matrices) {
    pictures += heat_map(matrix);
    shown.insert(matrix.title);
  }
  std::string tables;
  for (const Table& table : report.tables) {
    // A table that is a matrix is among the pictures.
    if (shown.count(table.title) == 0) tables += table_element(table);
  }
  const bool is_doctor = report.run.command == "devices" && !report.checks.empty();
  if (is_doctor) tables = doctor_checks(report) + tables;
  // Of checks the table is the result, of measurements it has the details.
  text += report.checks.empty() ? pictures + tables : tables + pictures;
  return text + notes(is_doctor ? without_checks(report) : report.notes) + footer(report.run) +
         "</main>\n</body>\n</html>\n";
}

}  // namespace hiptool::report
