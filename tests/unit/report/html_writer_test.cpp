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

TEST_CASE("named values after the verdict make a list, the verdict and other lines do not") {
  Report report = passed_report();
  report.verdict = {{Tone::plain, "digest  of all"},
                    {Tone::plain, "digest  0f3e"},
                    {Tone::plain, "kernel image  sm_90  or so"},
                    {Tone::warning, "driver  old"},
                    {Tone::plain, "  to do: look"},
                    {Tone::plain, "10 of 2  dubious"}};
  const std::string page = to_html(report);
  CHECK(has(page, "<p class=\"verdict\">digest  of all</p>"));
  CHECK(has(page,
            "<dl class=\"pairs\">\n<dt>digest</dt><dd>0f3e</dd>\n"
            "<dt>kernel image</dt><dd>sm_90  or so</dd>\n</dl>\n"
            "<p class=\"verdict warning\">driver  old</p>"));
  CHECK(has(page, "<p class=\"verdict\">  to do: look</p>"));
  CHECK(has(page, "<p class=\"verdict\">10 of 2  dubious</p>"));
}

TEST_CASE("the devices that were measured, with their drivers") {
  Report report = report_with(
      bench_copy(copy_cell("a@amd:0", "host", "amd:0", 1, 1),
                 R"("context":{"driver":"6.14","devices":[{"id":"amd:10","name":"MI300X"},
         {"id":"amd:9","name":"MI300X","pci_bus_id":"0000:65:00.0"}]},)"));
  std::string page = to_html(report);
  CHECK(has(page, "<h2>Measured on</h2>"));
  CHECK(page.find("<td>amd:9</td><td>MI300X</td><td>6.14</td><td>0000:65:00.0</td>") <
        page.find("<td>amd:10</td>"));
  CHECK(has(page, "<dt>host</dt><dd>n1</dd>"));
  report = report_with(
      R"({"schema":"hiptool.devices/1","status":"ok","platforms":[
         {"platform":"nvidia","driver_version":"580.1","runtime_version":"13.0"},
         {"platform":"cpu","runtime_version":"7.0.0"}],
         "devices":[{"id":"nvidia:0","name":"H200"},{"id":"cpu:0","name":"EPYC"}]})");
  page = to_html(report);
  CHECK(has(page, "<td>nvidia:0</td><td>H200</td><td>580.1</td><td>13.0</td>"));
  CHECK(has(page, "<td>cpu:0</td><td>EPYC</td><td>–</td><td>–</td>"));
}

TEST_CASE("a comparison names the machines of its runs, not its own") {
  Report report = report_with(
      R"({"schema":"hiptool.report/1","action":"compare","host":{"name":"desk","cpu":"mine"},
         "exit_code":0,"passed":true,
         "old":{"path":"a.json","host":"n1","started_at":null,"devices":[
           {"id":"amd:0","name":"MI300X","driver":"6.14"},
           {"id":"amd:1","name":"MI300X","driver":"6.14"},
           {"id":"cpu:0","runtime":"7.0.0"}]},
         "new":{"path":"b.json","host":"n2","devices":[]}})");
  const std::string page = to_html(report);
  CHECK(has(page, "<title>hiptool report compare</title>"));
  CHECK(has(page, "<td>old</td><td>n1</td><td>2 x MI300X, 1 x cpu:0</td><td>6.14</td><td>–</td>"));
  CHECK(has(page, "<td>new</td><td>n2</td>"));
  CHECK_FALSE(has(page, "desk"));
  CHECK_FALSE(has(page, "mine"));
}

TEST_CASE("the checks of a doctor are a table, the worst first, and not notes too") {
  Report report = report_with(
      R"({"schema":"hiptool.devices/1","status":"ok","checks":[
         {"id":"wsl","severity":"pass","device":null,"read":"not <WSL>","expected":null},
         {"id":"xid","severity":"fail","device":"nvidia:0","read":"79","expected":"none",
          "fix":"reboot"}]})");
  report.notes = {{Tone::bad, "fail xid: 79"},       {Tone::plain, "  fix: reboot"},
                  {Tone::plain, "pass wsl"},         {Tone::plain, "pass it on"},
                  {Tone::plain, "nvidia: 1 device"}, {Tone::plain, "  driver 580"}};
  const std::string page = to_html(report);
  CHECK(has(page, "<h2>Checks</h2>"));
  CHECK(has(page,
            "<td>fail</td><td>xid</td><td>nvidia:0</td><td>79</td><td>none</td>"
            "<td>reboot</td>"));
  CHECK(has(page, "<td>pass</td><td>wsl</td><td>–</td><td>not &lt;WSL&gt;</td>"));
  CHECK(page.find("<td>xid</td>") < page.find("<td>wsl</td>"));
  CHECK(has(page, "<li>pass it on</li>\n<li>nvidia: 1 device</li>\n<li>  driver 580</li>"));
  CHECK_FALSE(has(page, "<li>fail xid"));
  CHECK_FALSE(has(page, "fix: reboot</li>"));
  CHECK_FALSE(has(page, "<li>pass wsl"));
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
