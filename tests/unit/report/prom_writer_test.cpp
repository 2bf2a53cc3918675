// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "documents.hpp"
#include "report/report.hpp"

using namespace hiptool::report;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_CASE("several models are taken from the report, not from its document") {
  Report report = start_report({});
  report.run.command = "load";
  LoadedModel model;
  model.path = "a.gguf";
  model.passed = true;
  model.exit_code = 0;
  model.has_model = true;
  model.size_bytes = 64;
  model.load_time_s = 0.5;
  report.models = {model};
  CHECK(to_prom(report).find("hiptool_model_") == std::string::npos);
  report.models = {model, model};
  report.models.back().passed = false;
  report.models.back().exit_code = 5;
  const std::string text = to_prom(report);
  for (const char* line : {"hiptool_model_success{model=\"a.gguf\"} 1\n",
                           "hiptool_model_success{model=\"a.gguf#2\"} 0\n",
                           "hiptool_model_exit_code{model=\"a.gguf#2\"} 5\n",
                           "hiptool_model_bytes{model=\"a.gguf\"} 64\n",
                           "hiptool_model_load_time_seconds{model=\"a.gguf\"} 0.5\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("names end in whole units, truth is 0 or 1, text is no metric") {
  const std::string text = to_prom(report_with(
      R"({"schema":"hiptool.devices/1","status":"ok","devices":[{"id":"amd:0","ordinal":0,
      "name":"MI300X","memory_total_bytes":9007199254740993,"clock_hz":2.1e9,"integrated":false,
      "memory_peak_bytes_per_s":5.3e12,"uuid":null,"odd name":3,
      "pcie":{"width":16,"speed_gt_s":32.0}}]})"));
  for (const char* line :
       {"hiptool_device_info{device=\"amd:0\",name=\"MI300X\"} 1",
        "hiptool_device_clock_hertz{device=\"amd:0\"} 2.1e+09",
        "hiptool_device_memory_peak_bytes_per_second{device=\"amd:0\"} 5.3e+12",
        "hiptool_device_integrated{device=\"amd:0\"} 0",
        "hiptool_device_pcie_width{device=\"amd:0\"} 16", "hiptool_success{command=\"devices\"} 1",
        "# TYPE hiptool_device_pcie_width gauge"}) {
    CAPTURE(line);
    CHECK(has_line(text, line));
  }
  CHECK(text.find("odd name") == std::string::npos);
  CHECK(text.find("ordinal") == std::string::npos);
}

TEST_CASE("labels are escaped, and no sample stands twice") {
  const std::string text =
      to_prom(report_with(bench_copy(copy_cell("a\\\"\\\\\\n", "host", "amd:0", 1, 5) + "," +
                                     copy_cell("b", "host", "amd:0", 1, 5, "skipped"))));
  CHECK(has_line(text,
                 "hiptool_bytes_per_second{id=\"a\\\"\\\\\\\\x0A\",label=\"h2d.pinned.copy."
                 "1B\",source=\"host\",destination=\"amd:0\"} 5"));
  CHECK(count_of(text, "hiptool_bytes_per_second{") == 1);
  CHECK(count_of(text, "# TYPE hiptool_measurement_status gauge") == 1);
  const std::string twice = to_prom(report_with(
      R"({"schema":"hiptool.devices/1","devices":[{"id":"a","x":1},{"id":"a","x":2}]})"));
  CHECK(count_of(twice, "hiptool_device_x{") == 1);
}

TEST_CASE("how it ended") {
  for (const char* status : {"failed", "mismatch", "interrupted"}) {
    const std::string text = to_prom(
        report_with(std::string(R"({"schema":"hiptool.load/1","status":")") + status + "\"}"));
    CHECK(has_line(text, "hiptool_success{command=\"load\"} 0"));
  }
  const std::string passed = to_prom(report_with(bench_copy("", R"("exit_code":0,)")));
  CHECK(has_line(passed, "hiptool_success{command=\"bench-copy\"} 1"));
  CHECK(has_line(passed, "hiptool_exit_code{command=\"bench-copy\"} 0"));
  for (const char* code : {"1", "3", "5", "143"}) {
    const std::string bad =
        to_prom(report_with(R"({"schema":"hiptool.load/1","status":"verified","exit_code":)" +
                            std::string(code) + "}"));
    CHECK(has_line(bad, "hiptool_success{command=\"load\"} 0"));
    CHECK(has_line(bad, "hiptool_exit_code{command=\"load\"} " + std::string(code)));
  }
  const std::string text = to_prom(report_with(
      bench_copy("", R"("thresholds":[{"threshold":"x>=1","cell":"c","is_met":false}],)")));
  CHECK(has_line(text, "hiptool_success{command=\"bench-copy\"} 0"));
  CHECK(text.find("hiptool_exit_code") == std::string::npos);  // an older document
  CHECK(has_line(text, "hiptool_threshold_met{threshold=\"x>=1\",id=\"c\"} 0"));
  CHECK(has_line(text, "hiptool_start_time_seconds{command=\"bench-copy\"} 1772366400"));
  CHECK(to_prom(report_with(R"({"started_at":"yesterday"})")).find("start_time") ==
        std::string::npos);
}
