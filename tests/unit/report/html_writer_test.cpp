// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "documents.hpp"
#include "report/report.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("verdict, tables and notes stand on the page") {
  const std::string page = to_html(sample_report());
  CHECK(has(page, "<!DOCTYPE html>"));
  CHECK(has(page, "<p class=\"verdict good\">2 devices on nvidia and cpu</p>"));
  CHECK(has(page, "<p class=\"verdict warning\">"));
  CHECK(has(page, "<h2>Devices</h2>"));
  CHECK(has(page, "<th scope=\"col\" class=\"number\">Memory</th>"));
  CHECK(has(page, "<td class=\"number\">4.81 TB/s</td>"));
  CHECK(has(page, "<td>NVIDIA H200</td>"));
  CHECK(has(page, "<li>memory_free is not shown: it needs a context</li>"));
}

TEST_CASE("a hostile name stays text") {
  Report report = hostile_report();
  const Report measured = report_with(bench_copy(copy_cell("<b>@amd:0", "host", "amd:0", 1, 1)));
  report.measurements = measured.measurements;
  report.run = measured.run;
  report.run.error = {{"message", hostile_name}};
  report.run.host.name = report.run.host.cpu = hostile_name;
  const std::string page = to_html(report);
  CHECK(is_safe(page));
  CHECK_FALSE(has(page, "<b>"));
}

TEST_CASE("an empty report is a page, an empty table says so") {
  CHECK(has(to_html({}), "<title>FAILED: hiptool</title>"));
  Report report;
  report.tables = {{"Cells", {{"a", "A", Unit::none}}, {}}};
  CHECK(has(to_html(report), "<h2>Cells</h2>\n<p>(none)</p>"));
}

TEST_CASE("a table says how strongly its cells are coloured") {
  Report report;
  report.tables = {{"Links",
                    {{"a", "A", Unit::none}, {"b", "B", Unit::none}},
                    {{1, 2}, {3, 4}},
                    {{0, 1}, {0.25}}}};
  const std::string page = to_html(report);
  CHECK(count_of(page, "rgba(0,114,178,") == 2);
  CHECK(count_of(page, "rgba(0,114,178,0.6)\">2<") == 1);
  CHECK(count_of(page, "rgba(0,114,178,0.15)\">3<") == 1);
}

TEST_CASE("a matrix is shown once, as a heat map") {
  Report report =
      report_with(bench_copy(copy_cell("p@amd:0>amd:1", "amd:0", "amd:1", 1, 4e9) + "," +
                             copy_cell("p@amd:1>amd:0", "amd:1", "amd:0", 1, 1e9)));
  report.tables = {{"p: from row to column, GB/s", {{"a", "A", Unit::none}}, {{1}}}};
  const std::string page = to_html(report);
  CHECK(count_of(page, "p: from row to column, GB/s</h2>") == 1);
  CHECK(count_of(page, "rgba(0,114,178,0.6)") == 1);
  CHECK(count_of(page, "rgba(0,114,178,0.15)") == 1);
}

TEST_CASE("title and colour of the page are those of the verdict") {
  Report report;
  report.verdict = {{Tone::good, "6 copies"}, {Tone::good, "met: h2d>=1GB/s"}};
  report.run.end(0);
  CHECK(has(to_html(report), "<title>hiptool</title>"));
  CHECK(has(to_html(report), "<p class=\"verdict good\">6 copies</p>"));
  report.run.end(1, {{"d2h>=1GB/s", 1e9, 5e8}});
  const std::string page = to_html(report);
  CHECK(has(page, "<title>FAILED: hiptool</title>"));
  CHECK(has(page, "<p class=\"verdict bad\">FAILED: 6 copies</p>"));
  CHECK_FALSE(has(page, "verdict good"));
}
