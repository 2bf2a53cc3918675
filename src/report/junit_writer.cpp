// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "report/markup.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

enum class Outcome { passed, skipped, failed, error };

struct TestCase {
  std::string name;
  Outcome outcome = Outcome::passed;
  std::string message;
  std::string kind;  ///< of the failure: "mismatch", "SLOWER"
  std::optional<double> time_s;
  std::string compared = {};  ///< of a comparison: the id of the measurement
};

std::string seconds(double value) { return fixed_text(value, 6); }

std::string reason_or(const std::string& reason, const std::string& other) {
  return reason.empty() ? other : reason;
}

TestCase measured_case(const Measurement& one) {
  const std::string status(to_string(one.status));
  TestCase test{one.id, Outcome::passed, reason_or(wrong_text(one), status), status, {}};
  if (one.status != Status::ok) test.outcome = Outcome::error;
  if (one.status == Status::skipped) test.outcome = Outcome::skipped;
  if (one.status == Status::mismatch) test.outcome = Outcome::failed;
  double total_s = 0;
  for (const double sample : one.samples_s) total_s += sample;
  if (total_s > 0 && std::isfinite(total_s)) test.time_s = total_s;
  return test;
}

// A check of unknown outcome has not passed.
TestCase check_case(const Check& check) {
  TestCase test;
  test.name = check.id + (check.device.empty() ? "" : " " + check.device);
  test.kind = reason_or(check.code, check.severity);
  if (!check.code.empty()) test.message = check.code + " (" + check.action_class + ")";
  if (check.severity == "fail") test.outcome = Outcome::failed;
  if (check.severity == "unknown") test.outcome = Outcome::skipped;
  for (const auto& [field, text] :
       {std::pair("read", &check.read), std::pair("expected", &check.expected),
        std::pair("fix", &check.fix)}) {
    if (text->empty()) continue;
    if (!test.message.empty()) test.message += "; ";
    test.message.append(field).append(": ").append(*text);
  }
  return test;
}

const char* end_of_comparison(const Report& report) {
  return report.run.command == "report" ? "" : " against the baseline";
}

TestCase compared_case(const Comparison& compared, const std::string& end_of_name) {
  const base::Verdict verdict = compared.times.verdict;
  TestCase test{compared.id + end_of_name,
                Outcome::passed,
                compared.change_text(),
                std::string(to_string(verdict)),
                {},
                compared.id};
  if (verdict == base::Verdict::slower) test.outcome = Outcome::failed;
  if (verdict == base::Verdict::ambiguous) {
    test.outcome = Outcome::skipped;
    test.message = compared.reason;
  }
  return test;
}

TestCase threshold_case(const ThresholdResult& threshold) {
  TestCase test;
  test.name = threshold.threshold + (threshold.id.empty() ? "" : " " + threshold.id);
  test.kind = "threshold";
  if (!threshold.is_met) test.outcome = Outcome::failed;
  test.message = threshold.reason();
  const std::string measured = threshold.measured_text();
  if (!measured.empty()) test.message = "measured " + measured + ", " + threshold.bound_text();
  return test;
}

bool is_bad(const TestCase& test) {
  return test.outcome == Outcome::failed || test.outcome == Outcome::error;
}

void add_lines(const std::vector<std::string>& lines, std::string& message) {
  for (const std::string& line : lines) message += "\n" + line;
}

// One of several models: its error or its failures are the message.
TestCase model_case(const std::string& command, const LoadedModel& model) {
  TestCase test{command + " " + model.path, Outcome::passed, model.status, model.status,
                model.load_time_s};
  if (model.passed) return test;
  test.outcome = model.error.empty() ? Outcome::failed : Outcome::error;
  if (!model.error.empty()) {
    test.message = text_of(member(model.error, "message"));
    test.kind = text_of(member(model.error, "code"));
  }
  add_lines(model.wrong, test.message);
  for (const Failure& one : model.failures) test.message += "\n" + failure_text(one);
  return test;
}

bool has_several_models(const Report& report) { return report.models.size() > 1; }

// A load that ended in an error has no case of its own: the error is the case.
void add_load_cases(const std::string& command, const LoadedModel& model,
                    std::vector<TestCase>& tests) {
  if (!model.error.empty()) return;
  TestCase load{command + " " + model.path, Outcome::passed, model.status, model.status,
                model.load_time_s};
  if (model.status == "mismatch" || model.status == "wrong") {
    load.outcome = Outcome::failed;
    add_lines(model.wrong, load.message);
  }
  if (model.status != "failed" && model.status != "interrupted") tests.push_back(load);
  if (!model.values) return;
  tests.push_back({"values " + model.path,
                   model.has_bad_values ? Outcome::failed : Outcome::passed,
                   *model.values,
                   "values",
                   {}});
}

std::vector<TestCase> judged_cases(const Report& report) {
  std::vector<TestCase> tests;
  if (has_several_models(report)) {
    for (const LoadedModel& model : report.models) {
      tests.push_back(model_case(report.run.command, model));
    }
  } else if (!report.models.empty()) {
    add_load_cases(report.run.command, report.models.front(), tests);
  } else {
    for (const Measurement& one : report.measurements) tests.push_back(measured_case(one));
  }
  for (const ThresholdResult& one : report.thresholds) tests.push_back(threshold_case(one));
  for (const Comparison& one : report.comparisons) {
    tests.push_back(compared_case(one, end_of_comparison(report)));
  }
  // A stage is a case, and so are its further findings, which have its name and their code.
  std::set<std::string> names;
  for (const Check& check : report.checks) {
    TestCase test = check_case(check);
    if (!names.insert(test.name).second && !check.code.empty()) test.name += " " + check.code;
    tests.push_back(std::move(test));
  }
  return tests;
}

// "HT-COPY-RATE (config); read: ..." of a failure with a code.
std::string coded_text(const Failure& failure, const std::string& text) {
  if (failure.code.empty()) return text;
  return failure.code + " (" + failure.action_class + "); read: " + text;
}

// Of the error that ended the run the code; null where it has none.
const Failure* find_coded_error(const Run& run) {
  const auto found = std::find_if(run.failures.begin(), run.failures.end(), [](const Failure& one) {
    return one.kind == FailureKind::error;
  });
  return found == run.failures.end() ? nullptr : &*found;
}

// Failed comparisons that are not SLOWER: ambiguous where that is a failure, or failed in the new
// run unless the case of that measurement says so.
void fail_comparisons(const Report& report, std::vector<TestCase>& tests,
                      std::unordered_set<std::string>& shown) {
  std::unordered_map<std::string, TestCase*> compared;
  for (TestCase& test : tests) {
    if (!test.compared.empty()) compared.emplace(test.compared, &test);
  }
  for (const Failure& failure : report.run.failures) {
    if (failure.kind != FailureKind::comparison) continue;
    const auto found = compared.find(failure.subject.measurement);
    if (found == compared.end()) continue;
    TestCase& test = *found->second;
    const bool has_bad_measurement = shown.count(failure.subject.measurement) > 0;
    shown.insert(failure.what);
    if (is_bad(test) || has_bad_measurement) continue;
    test.outcome = Outcome::failed;
    test.message = reason_or(failure.reason, failure_text(failure));
  }
}

// Of the failures those that no case of a threshold or comparison, or of the same name, shows.
void add_failures(const Report& report, std::vector<TestCase>& tests) {
  std::unordered_set<std::string> shown;
  for (const TestCase& test : tests) {
    if (is_bad(test)) shown.insert(test.name);
  }
  fail_comparisons(report, tests, shown);
  for (const Failure& failure : report.run.failures) {
    const bool is_of_threshold =
        failure.kind == FailureKind::threshold && !report.thresholds.empty();
    // An error has a case of its own.
    if (failure.kind == FailureKind::error) continue;
    if (is_of_threshold || !shown.insert(failure.what).second) continue;
    const bool has_name_of_measurement =
        failure.kind == FailureKind::comparison && failure.what == failure.subject.measurement;
    tests.push_back({failure.what + (has_name_of_measurement ? end_of_comparison(report) : ""),
                     Outcome::failed,
                     coded_text(failure, failure_text(failure)),
                     reason_or(failure.code, "failure"),
                     {}});
  }
}

// Readers merge cases of one name, such as a check that two drivers answer.
void number_equal_names(std::vector<TestCase>& tests) {
  std::map<std::string, int> seen;
  for (TestCase& test : tests) {
    const int count = ++seen[test.name];
    if (count > 1) test.name += " " + std::to_string(count);
  }
}

// The cases agree with the verdict: one at least is bad where the run did not pass, none where it
// did.
std::vector<TestCase> cases_of(const Report& report) {
  const Run& run = report.run;
  std::vector<TestCase> tests = judged_cases(report);
  if (run.passed) {
    for (TestCase& test : tests) {
      if (is_bad(test)) test.outcome = Outcome::skipped;
    }
    if (tests.empty()) tests.push_back({run.command, Outcome::passed, {}, {}, {}});
    return tests;
  }
  // The case of a model has its failures and its error.
  if (has_several_models(report) && std::any_of(tests.begin(), tests.end(), is_bad)) return tests;
  add_failures(report, tests);
  if (!run.error.empty() || std::none_of(tests.begin(), tests.end(), is_bad)) {
    const Failure* const coded = find_coded_error(run);
    const std::string reason = reason_or(run.error_message(), exit_text(run));
    tests.push_back(
        {run.command,
         Outcome::error,
         coded == nullptr ? reason : coded_text(*coded, reason),
         coded == nullptr ? reason_or(text_of(member(run.error, "code")), "error") : coded->code,
         {}});
  }
  return tests;
}

std::string result_element(const TestCase& test) {
  if (test.outcome == Outcome::passed) return {};
  const std::string text = one_line(test.message);
  const std::string message = attribute("message", text);
  if (test.outcome == Outcome::skipped) return "<skipped" + message + "/>";
  const std::string name = test.outcome == Outcome::failed ? "failure" : "error";
  return "<" + name + message + attribute("type", reason_or(test.kind, "failed")) + ">" +
         markup_text(text) + "</" + name + ">";
}

std::string case_element(const TestCase& test, const std::string& suite) {
  std::string text = "    <testcase" + attribute("name", test.name) +
                     attribute("classname", suite) +
                     attribute("time", seconds(test.time_s.value_or(0)));
  const std::string result = result_element(test);
  if (result.empty()) return text + "/>\n";
  return text + ">" + result + "</testcase>\n";
}

/// What is not a failure and yet to be read: the cases of warnings have passed.
std::string warnings_element(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    if (check.severity != "warn" || check.code.empty()) continue;
    const TestCase test = check_case(check);
    text += "warning: " + test.name + ": " + one_line(test.message) + "\n";
  }
  return text.empty() ? text : "    <system-out>" + markup_text(text) + "</system-out>\n";
}

}  // namespace

std::string to_junit(const Report& report) {
  const Run& run = report.run;
  const std::string suite = "hiptool." + run.command;
  std::array<std::size_t, 4> counts{};
  double total_s = 0;
  std::string cases;
  std::vector<TestCase> tests = cases_of(report);
  number_equal_names(tests);
  for (const TestCase& test : tests) {
    ++counts[static_cast<std::size_t>(test.outcome)];
    total_s += test.time_s.value_or(0);
    cases += case_element(test, suite);
  }
  cases += warnings_element(report.checks);
  const auto count = [&counts](Outcome outcome) {
    return std::to_string(counts[static_cast<std::size_t>(outcome)]);
  };
  // The schema of JUnit's own Ant task has the time of the start without a zone.
  const std::string started = run.started_at.substr(0, 19);
  const std::string numbers =
      attribute("tests", std::to_string(tests.size())) +
      attribute("failures", count(Outcome::failed)) + attribute("errors", count(Outcome::error)) +
      attribute("skipped", count(Outcome::skipped)) + attribute("time", seconds(total_s));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", "hiptool") +
         numbers + ">\n  <testsuite" + attribute("name", suite) + numbers +
         attribute("hostname", run.host.name) + attribute("timestamp", started) + ">\n" + cases +
         "  </testsuite>\n</testsuites>\n";
}

}  // namespace hiptool::report
