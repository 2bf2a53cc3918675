// SPDX-License-Identifier: MIT
#include "report/verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/tree.hpp"

namespace hiptool::report {
namespace {

bool is_false(const Value& value) {
  const auto* truth = std::get_if<bool>(&value.data());
  return truth != nullptr && !*truth;
}

bool has_ended_badly(std::string_view status) {
  constexpr std::array bad{"", "failed", "mismatch", "interrupted", "wrong"};
  return std::find(bad.begin(), bad.end(), status) != bad.end();
}

// A measurement that went wrong, or none that was made.
bool has_bad_measurements(const Value& list) {
  const Array& all = elements(list);
  bool is_every_one_skipped = !all.empty();
  for (const Value& one : all) {
    const std::string status = text_of(member(one, "status"));
    if (!status.empty() && status != "ok" && status != "skipped") return true;
    is_every_one_skipped = is_every_one_skipped && status == "skipped";
  }
  return is_every_one_skipped;
}

// Documents written before they held their verdict.
bool passed_without_saying(const Object& document) {
  if (has_ended_badly(text_of(member(document, "status")))) return false;
  if (has_bad_measurements(member(document, "results"))) return false;
  // A comparison's cells have verdicts; bench-copy's have a status.
  if (has_bad_measurements(member(document, "cells"))) return false;
  if (!member(document, "error").is_absent()) return false;
  for (const Value& threshold : elements(member(document, "thresholds"))) {
    if (is_false(member(threshold, "is_met"))) return false;
  }
  for (const Value& cell : elements(member(document, "baseline"))) {
    if (text_of(member(cell, "verdict")) == "SLOWER") return false;
  }
  for (const Value& check : elements(member(document, "checks"))) {
    if (text_of(member(check, "severity")) == "fail") return false;
  }
  const Value& values = member(document, "values");
  const double bad_values =
      number_of(member(values, "nan")).value_or(0) + number_of(member(values, "inf")).value_or(0);
  return bad_values == 0 && text_of(member(document, "verdict")) != "SLOWER";
}

void put(Object& document, std::string_view name, Value value) {
  const auto found = std::find_if(document.begin(), document.end(),
                                  [&](const Member& one) { return one.first == name; });
  if (found == document.end()) {
    document.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool starts_with_failure(std::string_view line) {
  constexpr std::array<std::string_view, 6> words{"failed", "wrong",       "mismatch",
                                                  "slower", "interrupted", "not verified"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return line.size() >= word.size() &&
           std::equal(word.begin(), word.end(), line.begin(),
                      [](char left, char right) { return left == lower(right); });
  });
}

}  // namespace

void set_verdict(Object& document, int exit_code, const std::vector<Failure>& failures) {
  if (exit_code == 1) {
    for (auto& [name, value] : document) {
      if (name == "status" && text_of(value) == "ok") value = "failed";
    }
  }
  put(document, "exit_code", exit_code);
  put(document, "passed", exit_code == 0);
  Array list;
  for (const Failure& failure : failures) {
    list.push_back(
        Object{{"what", failure.what}, {"expected", failure.expected}, {"got", failure.got}});
  }
  put(document, "failures", std::move(list));
}

Verdict verdict_of(const Object& document) {
  Verdict verdict;
  for (const Value& failure : elements(member(document, "failures"))) {
    verdict.failures.push_back(
        {text_of(member(failure, "what")), member(failure, "expected"), member(failure, "got")});
  }
  if (const auto code = count_of(member(document, "exit_code")); code && *code <= 255) {
    verdict.exit_code = static_cast<int>(*code);
    verdict.passed = *code == 0 && !is_false(member(document, "passed"));
  } else {
    verdict.passed = passed_without_saying(document);
  }
  return verdict;
}

std::vector<Line> verdict_lines(const Report& report) {
  std::vector<Line> lines = report.verdict;
  const Verdict verdict = verdict_of(report.document);
  if (verdict.passed) {
    for (Line& line : lines) {
      if (line.tone == Tone::bad) line.tone = Tone::warning;
    }
    return lines;
  }
  for (Line& line : lines) {
    if (line.tone == Tone::good) line.tone = Tone::plain;
  }
  if (lines.empty()) lines.push_back({Tone::bad, exit_text(verdict)});
  Line& first = lines.front();
  first.tone = Tone::bad;
  if (!starts_with_failure(first.text)) first.text = "FAILED: " + first.text;
  return lines;
}

std::string exit_text(const Verdict& verdict) {
  return verdict.exit_code ? "exit code " + std::to_string(*verdict.exit_code) : "no exit code";
}

std::string failure_text(const Failure& failure) {
  std::string text = failure.what;
  if (!failure.expected.is_absent()) {
    text += ": expected " + format_value(failure.expected, Unit::none);
  }
  if (!failure.got.is_absent()) {
    text += (failure.expected.is_absent() ? ": got " : ", got ") +
            format_value(failure.got, Unit::none);
  }
  return text;
}

}  // namespace hiptool::report
