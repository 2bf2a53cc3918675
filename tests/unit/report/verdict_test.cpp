// SPDX-License-Identifier: MIT
#include "report/verdict.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"
#include "report/tree.hpp"

using namespace hiptool::report;

namespace {

Object document_with(const std::string& status) {
  return {{"schema", "hiptool.bench-copy/1"}, {"status", status}};
}

bool passes(const std::string& document) { return verdict_of(parsed(document)).passed; }

Report report_ending(int exit_code, std::vector<Line> lines) {
  Report report;
  report.verdict = std::move(lines);
  set_verdict(report.document, exit_code);
  return report;
}

}  // namespace

TEST_CASE("what set_verdict writes is what verdict_of reads") {
  for (const int code : {0, 1, 3, 5, 130, 143}) {
    CAPTURE(code);
    Object document = document_with("ok");
    set_verdict(document, code, {{"h2d>=48GB/s", 48e9, 41e9}});
    const Verdict verdict = verdict_of(document);
    CHECK(verdict.exit_code == code);
    CHECK(verdict.passed == (code == 0));
    REQUIRE(verdict.failures.size() == 1);
    CHECK(failure_text(verdict.failures[0]) ==
          "h2d>=48GB/s: expected 48000000000, got 41000000000");
    CHECK(text_of(member(document, "status")) == (code == 1 ? "failed" : "ok"));
  }
}

TEST_CASE("a status of its own outlives exit code 1, and a second verdict replaces the first") {
  Object document = document_with("verified");
  set_verdict(document, 1, {{"values m.gguf", 0, 3}});
  CHECK(text_of(member(document, "status")) == "verified");
  const std::size_t fields = document.size();
  set_verdict(document, 7);
  CHECK(document.size() == fields);
  CHECK(verdict_of(document).exit_code == 7);
  CHECK(verdict_of(document).failures.empty());
}

TEST_CASE("a document that contradicts itself has not passed") {
  CHECK_FALSE(passes(R"({"status":"ok","exit_code":0,"passed":false})"));
  CHECK_FALSE(passes(R"({"status":"ok","exit_code":3,"passed":true})"));
}

TEST_CASE("documents without a verdict are judged by what they hold") {
  CHECK(passes(bench_copy(copy_cell("a", "host", "amd:0", 1, 1))));
  CHECK(passes(bench_copy(copy_cell("a", "host", "amd:0", 1, 1) + "," +
                          copy_cell("b", "host", "amd:0", 1, 1, "skipped"))));
  CHECK(passes(R"({"status":"verified","values":{"nan":0,"inf":0}})"));
  for (const char* document :
       {"{}", R"({"status":"failed"})", R"({"status":"mismatch"})", R"({"status":"interrupted"})",
        R"({"status":"wrong"})", R"({"status":"ok","error":{"code":"device"}})",
        R"({"status":"ok","thresholds":[{"is_met":true},{"is_met":false}]})",
        R"({"status":"ok","baseline":[{"verdict":"SLOWER"}]})",
        R"({"status":"ok","checks":[{"severity":"fail"}]})",
        R"({"status":"verified","values":{"nan":1,"inf":0}})",
        R"({"status":"verified","values":{"nan":0,"inf":1}})",
        R"({"status":"ok","verdict":"SLOWER"})",
        R"({"status":"ok","cells":[{"status":"ok"},{"status":"failed"}]})",
        R"({"status":"ok","results":[{"status":"mismatch"},{"status":"ok"}]})",
        R"({"status":"ok","results":[{"status":"skipped"},{"status":"skipped"}]})"}) {
    CAPTURE(document);
    CHECK_FALSE(passes(document));
    CHECK_FALSE(verdict_of(parsed(document)).exit_code.has_value());
  }
}

TEST_CASE("no line of a run that did not pass is good, and the first one says so") {
  const std::vector<Line> lines = verdict_lines(
      report_ending(1, {{Tone::good, "6 copies"}, {Tone::good, "met"}, {Tone::bad, "MISSED"}}));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "FAILED: 6 copies");
  CHECK(lines[0].tone == Tone::bad);
  CHECK(lines[1].tone == Tone::plain);
  CHECK(lines[2].tone == Tone::bad);
  for (const char* text : {"FAILED: 1 of 2", "WRONG DATA in 1", "interrupted after 1",
                           "Mismatch of 2", "SLOWER: h2d", "not verified"}) {
    const Line first = verdict_lines(report_ending(5, {{Tone::warning, text}})).front();
    CHECK(first.text == text);
    CHECK(first.tone == Tone::bad);
  }
  CHECK(verdict_lines(report_ending(3, {})).front().text == "FAILED: exit code 3");
  CHECK(verdict_lines({}).front().text == "FAILED: no exit code");
}

TEST_CASE("no line of a run that passed is bad") {
  const std::vector<Line> lines =
      verdict_lines(report_ending(0, {{Tone::bad, "odd"}, {Tone::good, "fine"}}));
  CHECK(lines[0].tone == Tone::warning);
  CHECK(lines[0].text == "odd");
  CHECK(lines[1].tone == Tone::good);
  CHECK(verdict_lines(report_ending(0, {})).empty());
}

TEST_CASE("a failure in one line") {
  CHECK(failure_text({"NaN in blk.0", {}, {}}) == "NaN in blk.0");
  CHECK(failure_text({"a", {}, 3}) == "a: got 3");
  CHECK(failure_text({"a", "x", {}}) == "a: expected x");
}
