// SPDX-License-Identifier: MIT
#include "results/wrong.hpp"

#include "machine/codes.hpp"

namespace hiptool::results {
namespace {

// Null for a user's kernel, whose wrong results may be its own.
const char* code_of_wrong(const report::Measurement& measured) {
  if (measured.kind == "module") return nullptr;
  if (measured.kind == "kernel") return machine::codes::kernel_data;
  if (measured.kind == "operation") return machine::codes::operation_data;
  if (measured.kind == "library") return machine::codes::library_data;
  return machine::codes::copy_data;
}

}  // namespace

report::Failure coded_failure(std::string what, const char* code, report::Subject where) {
  report::Failure failure;
  failure.what = std::move(what);
  failure.kind = report::FailureKind::measurement;
  failure.subject = std::move(where);
  if (code == nullptr) return failure;
  failure.code = code;
  failure.action = machine::find_code(code)->advice;
  failure.action_class = machine::action_class_of(code);
  return failure;
}

report::Failure failure_of_wrong(const report::Measurement& measured) {
  report::Failure failure =
      coded_failure(measured.id, code_of_wrong(measured),
                    {.device = measured.is_pair() ? measured.destination : place_of(measured),
                     .measurement = measured.id});
  failure.reason = report::wrong_text(measured);
  if (!measured.wrong) return failure;
  failure.expected = measured.wrong->expected;
  failure.got = measured.wrong->got;
  return failure;
}

void add_action_lines(report::Report& report) {
  std::vector<std::string> actions;
  for (const report::Failure& failure : report.run.failures) {
    const bool is_wrong_data = failure.kind == report::FailureKind::measurement;
    if (is_wrong_data && !failure.action.empty()) base::add_once(actions, failure.action);
  }
  for (const std::string& action : actions) {
    report.verdict.push_back({report::Tone::plain, "to do: " + action});
  }
}

}  // namespace hiptool::results
