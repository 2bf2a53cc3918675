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
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1, "skipped"))) == "2011");
  CHECK(counts(bench_copy(copy_cell("a", "host", "amd:0", 1, 1) + "," +
                          copy_cell("b", "host", "amd:0", 1, 1, "skipped"))) == "2001");
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

TEST_CASE("failures of the document that no case shows are cases") {
  const std::string failures = R"("exit_code":1,"passed":false,"failures":[
      {"what":"t c","expected":2,"got":1},
      {"what":"baseline lacks x","expected":null,"got":null}],)";
  CHECK(counts(bench_copy("", failures)) == "2200");
  const std::string threshold = R"("thresholds":[{"threshold":"t","cell":"c","is_met":false}],)";
  CHECK(counts(bench_copy("", failures + threshold)) == "2200");
  const std::string of_several = R"("thresholds":[{"threshold":"t","is_met":false}],)";
  CHECK(counts(bench_copy("", failures + of_several)) == "2200");
}

TEST_CASE("the cases agree with the verdict") {
  const std::string ok = copy_cell("a", "host", "amd:0", 1, 1);
  for (const char* code : {"1", "3", "5", "130"}) {
    CAPTURE(code);
    CHECK(counts(bench_copy(ok, R"("exit_code":)" + std::string(code) + ",")) == "2010");
  }
  // A check may fail in a run that was asked only to list.
  CHECK(counts(bench_copy("", R"("exit_code":0,"checks":[{"id":"a","severity":"fail"}],)")) ==
        "1001");
}

TEST_CASE("a load that never was has no case but the error") {
  const std::string head = R"({"schema":"hiptool.load/1","model":{"path":"m"},)";
  CHECK(counts(head + R"("status":"failed","error":{"code":"unavailable","message":"m"}})") ==
        "1010");
  CHECK(counts(head + R"("status":"interrupted","exit_code":130})") == "1010");
  CHECK(counts(head + R"("status":"verified"})") == "1000");
  CHECK(counts(head + R"("status":"wrong","exit_code":5})") == "1100");
  CHECK(counts(head + R"("status":"verified","exit_code":1,"values":{"nan":1,"inf":0}})") ==
        "2100");
}

TEST_CASE("models are taken from the report, not from its document") {
  Report report = start_report({});
  report.run.command = "load";
  LoadedModel good;
  good.path = "a.gguf";
  good.status = "verified";
  good.passed = true;
  LoadedModel bad = good;
  bad.path = "b.gguf";
  bad.status = "mismatch";
  bad.passed = false;
  bad.error = {{"code", "data_mismatch"}, {"message", "wrong data"}};
  bad.wrong = {"tensor w, 4 bytes"};
  bad.failures = {{"w", 0, 3}};
  report.models = {good, bad};
  report.run.end(5);
  const std::string several = to_junit(report);
  CHECK(several.find("<testcase name=\"load a.gguf\"") != std::string::npos);
  CHECK(several.find("wrong data; tensor w, 4 bytes; w: expected 0, got 3") != std::string::npos);
  CHECK(several.find("type=\"data_mismatch\"") != std::string::npos);

  bad.error.clear();
  bad.values = "nan: 3";
  bad.has_bad_values = true;
  report.models = {bad};
  const std::string one = to_junit(report);
  CHECK(one.find("mismatch; tensor w, 4 bytes") != std::string::npos);
  CHECK(one.find("<testcase name=\"values b.gguf\"") != std::string::npos);
  CHECK(one.find("failures=\"2\"") != std::string::npos);
}

TEST_CASE("a time beyond all bounds is a number") {
  const std::string text = to_junit(report_with(
      R"({"schema":"hiptool.load/1","status":"verified","model":{"path":"m"},
          "load_time_s":1e300})"));
  const auto start = text.find("time=\"") + 6;
  const std::string digits = text.substr(start, text.find('"', start) - start);
  CHECK(std::stod(digits) == 1e300);
}
