// SPDX-License-Identifier: MIT
#include "report/run.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "report/document.hpp"

namespace hiptool::report {
namespace {

constexpr std::array<std::string_view, 12> kind_words{
    "other",       "threshold", "comparison", "finding",           "stage", "values", "self-test",
    "measurement", "straggler", "run",        "nothing in common", "error"};

// Of both numbers of a missed threshold, whose text has it: "h2d>=48GB/s ID".
Unit unit_of(const Failure& failure) {
  if (failure.kind != FailureKind::threshold) return Unit::none;
  const std::string text = base::lower_case(failure.what.substr(0, failure.what.find(' ')));
  if (text.ends_with("flop/s")) return Unit::operations;
  if (text.ends_with("b/s")) return Unit::rate;
  if (text.ends_with('%')) return Unit::share;
  return text.find("<=") == std::string::npos ? Unit::none : Unit::duration;
}

}  // namespace

std::string_view to_string(FailureKind kind) noexcept {
  return kind_words[static_cast<std::size_t>(kind)];
}

FailureKind parse_failure_kind(std::string_view text) noexcept {
  const auto found = std::find(kind_words.begin(), kind_words.end(), text);
  if (found == kind_words.end()) return FailureKind::other;
  return static_cast<FailureKind>(found - kind_words.begin());
}

void Run::set_error(const Error& cause) {
  status = cause.code() == ErrorCode::cancelled ? "interrupted" : "failed";
  error = error_value(cause);
}

void Run::end(int code, std::vector<Failure> reasons) {
  if (code == 1 && status == "ok") status = "failed";
  exit_code = code;
  passed = code == 0;
  failures = std::move(reasons);
}

Object error_value(const Error& error) {
  Value native;
  if (const auto& cause = error.native()) {
    native = Object{{"platform", cause->platform}, {"code", cause->code}, {"name", cause->name}};
  }
  return {{"code", to_string(error.code())},
          {"message", error.what()},
          {"hint", text_or_absent(error.hint())},
          {"object", text_or_absent(error.object())},
          {"native", std::move(native)}};
}

Object head_of(const Run& run) {
  Object head{{"schema", "hiptool." + run.command + "/2"},
              {"tool", Object{{"version", run.tool_version}, {"commit", run.tool_commit}}},
              {"host", Object{{"name", text_or_absent(run.host.name)},
                              {"kernel", text_or_absent(run.host.kernel)},
                              {"cpu", text_or_absent(run.host.cpu)},
                              {"cores", run.host.cores},
                              {"memory_bytes", run.host.memory_bytes}}},
              {"started_at", run.started_at},
              {"status", run.status}};
  if (!run.devices.empty()) head.emplace_back("measured_on", devices_value(run.devices));
  if (!run.error.empty()) head.emplace_back("error", run.error);
  head.emplace_back("exit_code", run.exit_code);
  head.emplace_back("passed", run.passed);
  head.emplace_back("failures", array_of(run.failures, failure_value));
  return head;
}

Report start_report(Run run) {
  Report report;
  report.document = head_of(run);
  report.run = std::move(run);
  return report;
}

Line failure_line(std::string text) { return {Tone::bad, std::move(text), true}; }

std::vector<Line> parts_verdict(const PartsEnd& end) {
  if (end.counts.empty()) {
    return {failure_line(std::string("interrupted before ") + end.first + " was done")};
  }
  if (end.wrong > 0) {
    const std::string on = end.wrong_on.empty() ? "" : " on " + end.wrong_on;
    return {failure_line("WRONG RESULTS of " + std::to_string(end.wrong) + on + ": " + end.counts)};
  }
  if (end.error != nullptr && end.error->code() == ErrorCode::cancelled) {
    return {failure_line("interrupted: " + end.counts)};
  }
  if (end.error != nullptr) {
    return {failure_line(std::string("FAILED: ") + end.error->what()), {Tone::plain, end.counts}};
  }
  if (!end.missed.empty()) {
    return {failure_line("FAILED: " + end.missed), {Tone::plain, end.counts}};
  }
  return {{Tone::good, end.counts + end.passed}};
}

std::vector<Line> verdict_lines(const Report& report) {
  std::vector<Line> lines = report.verdict;
  if (report.run.passed) {
    for (Line& line : lines) {
      if (line.tone == Tone::bad) line.tone = Tone::warning;
    }
    return lines;
  }
  for (Line& line : lines) {
    if (line.tone == Tone::good) line.tone = Tone::plain;
  }
  if (lines.empty()) lines.push_back({Tone::bad, exit_text(report.run)});
  Line& first = lines.front();
  first.tone = Tone::bad;
  if (!first.names_failure) first.text = "FAILED: " + first.text;
  first.names_failure = true;
  return lines;
}

std::string exit_text(const Run& run) {
  return run.exit_code ? "exit code " + std::to_string(*run.exit_code) : "no exit code";
}

std::string failure_text(const Failure& failure) {
  std::string text = failure.what;
  const Unit unit = unit_of(failure);
  if (failure.expected.is_absent() && failure.got.is_absent()) return text;
  if (failure.expected.is_absent()) return text + ": got " + format_value(failure.got, unit);
  if (failure.got.is_absent()) return text + ": expected " + format_value(failure.expected, unit);
  return text + ": " + expected_text(failure.expected, failure.got, unit);
}

}  // namespace hiptool::report
