// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "documents.hpp"
#include "report/report.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

// "tests failures errors skipped"
std::string counts(const std::string& document) {
  const std::string text = to_junit(report_with(document));
  CHECK(is_safe(text));
  const auto start = text.find("tests=\"");
  std::string numbers;
  for (const char letter : text.substr(start, text.find(" time=", start) - start)) {
    if (letter >= '0' && letter <= '9') numbers += letter;
  }
  return numbers;
}

}  // namespace

TEST_CASE("every status has its outcome; one that is not known is no pass") {
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1))) == "1000");
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1, "mismatch"))) == "1100");
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1, "failed"))) == "1010");
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1, "skipped"))) == "1001");
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1, "melted"))) == "1010");
  CHECK(counts(bench_copy("", R"("error":{"code":"device","message":"m"},)")) == "1010");
  CHECK(counts(bench_copy("")) == "1000");
}

TEST_CASE("thresholds, baseline and checks") {
  CHECK(counts(bench_copy("", R"("thresholds":[{"threshold":"t","cell":"c","is_met":false},
      {"threshold":"t","cell":"d","is_met":true},{"threshold":"t","cell":"e"}],)")) == "3200");
  CHECK(counts(bench_copy("", R"("baseline":[{"id":"a","verdict":"SLOWER"},
      {"id":"b","verdict":"SAME"},{"id":"c","verdict":"AMBIGUOUS"}],)")) == "3101");
  CHECK(counts(bench_copy("", R"("checks":[{"id":"a","severity":"fail"},
      {"id":"b","severity":"warn"},{"id":"c","severity":"unknown"}],)")) == "3101");
}

TEST_CASE("a hostile name stays in its attribute") {
  const std::string text = to_junit(
      report_with(bench_copy(copy_cell("a<b>\\\"&\\u0001", "host", "amd:0", 1, 1, "mismatch"))));
  CHECK(text.find("name=\"a&lt;b&gt;&quot;&amp;\\x01\"") != std::string::npos);
}
