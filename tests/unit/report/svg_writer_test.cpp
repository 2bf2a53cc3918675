// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "documents.hpp"
#include "report/report.hpp"

using namespace hiptool::report;

TEST_CASE("charts and heat maps stand below each other") {
  const std::string text =
      to_svg(report_with(bench_copy(copy_cell("x@amd:0", "host", "amd:0", 1, 1) + "," +
                                    copy_cell("p@amd:0>amd:1", "amd:0", "amd:1", 1, 4e9) + "," +
                                    copy_cell("p@amd:1>amd:0", "amd:1", "amd:0", 1, 1e9))));
  CHECK(text.substr(0, 5) == "<?xml");
  CHECK(count_of(text, "<g transform=\"translate(0 ") == 2);
  CHECK(count_of(text, "translate(0 0)") == 1);
  CHECK(count_of(text, "class=\"heat\"") == 4);
}

TEST_CASE("without measurements it says so") {
  CHECK(count_of(to_svg({}), "nothing was measured") == 1);
}

TEST_CASE("a run that did not pass says so above the charts") {
  const std::string cell = copy_cell("x@amd:0", "host", "amd:0", 1, 1);
  CHECK(count_of(to_svg(report_with(bench_copy(cell, R"("exit_code":0,)"))), "FAILED") == 0);
  const std::string text = to_svg(report_with(bench_copy(cell, R"("exit_code":1,)")));
  CHECK(count_of(text, ">FAILED: exit code 1<") == 1);
  CHECK(count_of(text, "translate(0 48)") == 1);
}
