// SPDX-License-Identifier: MIT
#include "report/run.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"

using namespace hiptool::report;

namespace {

Run run_with(const std::string& status) {
  Run run;
  run.command = "bench-copy";
  run.status = status;
  return run;
}

bool passes(const std::string& document) { return read_report(parsed(document)).run.passed; }

Report report_ending(int exit_code, std::vector<Line> lines) {
  Report report;
  report.verdict = std::move(lines);
  report.run.end(exit_code);
  return report;
}

}  // namespace

TEST_CASE("the head of a document is read back as the run that wrote it") {
  for (const int code : {0, 1, 3, 5, 130, 143}) {
    CAPTURE(code);
    Run written = run_with("ok");
    written.host = {"n1", "6.1", "EPYC", 64, 1u << 30};
    written.tool_version = "1.2";
    written.started_at = "2026-03-01T12:00:00Z";
    written.end(code, {{"h2d>=48GB/s", 48e9, 41e9, FailureKind::threshold}});
    const Object document = head_of(written);
    const Run run = read_report(document).run;
    CHECK(run.command == "bench-copy");
    CHECK(run.host.name == "n1");
    CHECK(run.host.cores == 64);
    CHECK(run.host.memory_bytes == 1u << 30);
    CHECK(run.tool_version == "1.2");
    CHECK(run.started_at == written.started_at);
    CHECK(run.exit_code == code);
    CHECK(run.passed == (code == 0));
    REQUIRE(run.failures.size() == 1);
    CHECK(failure_text(run.failures[0]) == "h2d>=48GB/s: expected 48.0 GB/s, got 41.0 GB/s");
    CHECK(run.status == (code == 1 ? "failed" : "ok"));
    CHECK(text_of(member(elements(member(document, "failures"))[0], "kind")) == "threshold");
  }
}

TEST_CASE("a status of its own outlives exit code 1, and a second verdict replaces the first") {
  Run run = run_with("verified");
  run.end(1, {{"values m.gguf", 0, 3}});
  CHECK(run.status == "verified");
  run.end(7);
  CHECK(run.exit_code == 7);
  CHECK(run.failures.empty());
}

TEST_CASE("an error is status, code, message, hint and native error of the document") {
  using hiptool::Error;
  using hiptool::ErrorCode;
  Run run = run_with("ok");
  run.set_error(
      Error({ErrorCode::device, "copy", "it broke", "try again", {{"amd", 719, "hipX"}}}));
  CHECK(run.status == "failed");
  CHECK(run.error_message() == "it broke");
  CHECK(text_of(member(run.error, "code")) == "device");
  CHECK(text_of(member(member(run.error, "native"), "name")) == "hipX");
  run.set_error(Error(ErrorCode::cancelled, "copy", "interrupted"));
  CHECK(run.status == "interrupted");
  CHECK(member(run.error, "hint").is_absent());
  CHECK(member(run.error, "native").is_absent());
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
    CHECK_FALSE(read_report(parsed(document)).run.exit_code.has_value());
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
    const Line first = verdict_lines(report_ending(5, {failure_line(text)})).front();
    CHECK(first.text == text);
    CHECK(first.tone == Tone::bad);
  }
  CHECK(verdict_lines(report_ending(3, {})).front().text == "FAILED: exit code 3");
  CHECK(verdict_lines({}).front().text == "FAILED: no exit code");
}

TEST_CASE("the first lines of a run of several parts: what is worst comes first") {
  const Error lost(ErrorCode::device_lost, "copy", "nvidia:0 is gone");
  const Error stopped(ErrorCode::cancelled, "run", "interrupted");
  const auto first = [](PartsEnd end) {
    const std::vector<Line> lines = parts_verdict(end);
    CHECK(lines.front().names_failure == (lines.front().tone == Tone::bad));
    return lines.front().text + (lines.size() > 1 ? " / " + lines[1].text : "");
  };
  CHECK(first({.wrong = 2, .error = &lost, .missed = "m", .counts = "1 of 3"}) ==
        "WRONG RESULTS of 2: 1 of 3");
  CHECK(first({.error = &stopped, .missed = "m", .counts = "1 of 3"}) == "interrupted: 1 of 3");
  CHECK(first({.error = &lost, .missed = "m", .counts = "1 of 3"}) ==
        "FAILED: nvidia:0 is gone / 1 of 3");
  CHECK(first({.missed = "m", .counts = "1 of 3"}) == "FAILED: m / 1 of 3");
  CHECK(first({.counts = "3 of 3", .passed = ", all"}) == "3 of 3, all");
  CHECK(first({.error = &stopped}) == "interrupted before a kernel was done");
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
  const auto missed = [](const char* what, Value expected, Value got) {
    return failure_text({what, std::move(expected), std::move(got), FailureKind::threshold});
  };
  CHECK(missed("h2d>=999GB/s h2d@cpu:0", 999e9, 1.18843e10) ==
        "h2d>=999GB/s h2d@cpu:0: expected 999 GB/s, got 11.9 GB/s");
  CHECK(missed("fma>=5TFLOP/s fma@cpu:0", 5e12, 4e12) ==
        "fma>=5TFLOP/s fma@cpu:0: expected 5.00 TFLOP/s, got 4.00 TFLOP/s");
  CHECK(missed("h2d>=48GB/s h2d@cpu:0", 48e9, 47.98e9) ==
        "h2d>=48GB/s h2d@cpu:0: expected 48 GB/s, got 47.98 GB/s");
  CHECK(missed("h2d>=90% h2d@cpu:0", 0.9, 0.5) == "h2d>=90% h2d@cpu:0: expected 90 %, got 50 %");
  CHECK(missed("h2d.latency<=20us h2d@cpu:0", 20e-6, 25e-6) ==
        "h2d.latency<=20us h2d@cpu:0: expected 20.0 us, got 25.0 us");
}
