// SPDX-License-Identifier: MIT
#include "base/contains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "machine/codes.hpp"
#include "model/model_kind.hpp"
#include "report/text.hpp"
#include "report/verdict.hpp"
#include "results/load/report.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

constexpr std::size_t most_named_tensors = 3;

std::vector<const FaultResult*> missed_faults(const LoadOutcome& outcome) {
  std::vector<const FaultResult*> missed;
  for (const FaultResult& fault : outcome.self_test) {
    if (!fault.is_caught) missed.push_back(&fault);
  }
  return missed;
}

std::size_t missed_by_proof(const LoadOutcome& outcome) {
  return outcome.prove ? missed_faults(*outcome.prove) : 0;
}

bool has_bad_values(const LoadOutcome& outcome) {
  return outcome.values && !outcome.values->findings.empty();
}

// The copies of a tensor on several devices are found one by one.
std::vector<std::string> names_of_bad_tensors(const LoadOutcome& outcome) {
  std::vector<std::string> names;
  for (const ValueFinding& finding : outcome.values->findings) {
    base::add_once(names, outcome.model->tensors()[finding.tensor].name);
  }
  return names;
}

std::string bad_values_text(const LoadOutcome& outcome) {
  const ValueCheckResult& values = *outcome.values;
  std::string text;
  for (const auto& [count, kind] :
       {std::pair(values.nan, "NaN"), std::pair(values.infinite, "infinity")}) {
    if (count == 0) continue;
    text +=
        (text.empty() ? "" : ", ") + fmt::format("{}: {}", kind, base::count_of(count, "value"));
  }
  const std::vector<std::string> names = names_of_bad_tensors(outcome);
  return text + " in " + base::count_of(names.size(), "tensor") + " (" +
         base::first_of(names, most_named_tensors) + ")";
}

std::string missed_faults_text(const LoadOutcome& outcome) {
  const auto missed = missed_faults(outcome);
  std::string text;
  for (const FaultResult* fault : missed) {
    text +=
        (text.empty() ? "" : ", ") + std::string(to_string(fault->fault)) + " on " + fault->device;
  }
  return fmt::format("self-test missed {} of {}: {}; do not trust the verification", missed.size(),
                     base::count_of(outcome.self_test.size(), "planted fault"), text);
}

std::string missed_by_proof_text(const LoadOutcome& outcome) {
  std::vector<std::string> missed;
  for (const reference::PlantedFault& fault : outcome.prove->self_test) {
    if (!fault.is_named()) missed.push_back(std::string(to_string(fault.kind)));
  }
  return fmt::format("self-test missed {} of {}: {}; do not trust the proof", missed.size(),
                     base::count_of(outcome.prove->self_test.size(), "planted fault"),
                     fmt::join(missed, ", "));
}

void add_wrong_data(const VerifyResult& found, std::vector<report::Failure>& failures) {
  for (const WrongDevice& one : found.wrong_devices) {
    report::Failure failure = coded_failure("data in the memory of " + one.device,
                                            machine::codes::copy_data, {.device = one.device});
    failure.expected = format_count(one.blocks) + " pieces equal to the file";
    failure.got = format_count(one.mismatch_count) + " that differ";
    const auto first = std::ranges::find(found.mismatches, one.device, &Mismatch::device);
    if (first != found.mismatches.end()) {
      failure.subject.tensor = first->tensor;
      failure.reason = fmt::format("the first difference is in tensor {}, at file offset {}",
                                   first->tensor, first->file_offset);
    }
    failures.push_back(std::move(failure));
  }
}

}  // namespace

int load_exit_code(const LoadOutcome& outcome, const Error* error, int signal) {
  const bool is_wrong = outcome.status == LoadStatus::mismatch || !missed_faults(outcome).empty() ||
                        missed_by_proof(outcome) > 0 ||
                        (outcome.prove && !outcome.prove->result.is_right());
  if (is_wrong && (error == nullptr || error->code() != ErrorCode::cancelled)) {
    return report::exit_code_of(ErrorCode::data_mismatch);
  }
  if (error != nullptr) return report::exit_code_of(error->code(), signal);
  return has_bad_values(outcome) ? report::exit_check_failed : report::exit_done;
}

std::vector<report::Failure> load_failures(const LoadOutcome& outcome) {
  std::vector<report::Failure> failures;
  if (outcome.status == LoadStatus::mismatch) add_wrong_data(*outcome.verification, failures);
  if (outcome.prove) {
    for (report::Failure& one : prove_failures(*outcome.prove)) failures.push_back(std::move(one));
  }
  for (const FaultResult* fault : missed_faults(outcome)) {
    failures.push_back({fmt::format("self-test: fault {} on {} in tensor {}",
                                    to_string(fault->fault), fault->device, fault->tensor),
                        "detected",
                        "not detected",
                        report::FailureKind::self_test,
                        {.device = fault->device, .tensor = fault->tensor}});
  }
  if (missed_by_proof(outcome) > 0) {
    for (const reference::PlantedFault& fault : outcome.prove->self_test) {
      if (fault.is_named()) continue;
      failures.push_back(
          {fmt::format("self-test of the proof: {} on {} in layer {}, tensor {}",
                       to_string(fault.kind), fault.device, fault.layer, fault.tensor),
           "named",
           "not named",
           report::FailureKind::self_test,
           {.device = fault.device, .tensor = fault.tensor}});
    }
  }
  if (!has_bad_values(outcome)) return failures;
  for (const ValueFinding& finding : outcome.values->findings) {
    const TensorInfo& tensor = outcome.model->tensors()[finding.tensor];
    failures.push_back(
        {"tensor " + tensor.name,
         "only finite values",
         fmt::format("{} NaN and {} infinite, first at file offset {}", format_count(finding.nan),
                     format_count(finding.infinite), tensor.file_offset + finding.first_offset),
         report::FailureKind::values,
         {.tensor = tensor.name}});
  }
  return failures;
}

std::string failed_check_text(const LoadOutcome& outcome) {
  if (!missed_faults(outcome).empty()) return missed_faults_text(outcome);
  if (missed_by_proof(outcome) > 0) return missed_by_proof_text(outcome);
  return has_bad_values(outcome) ? bad_values_text(outcome) : std::string();
}

std::vector<std::string> load_warnings(const LoadOutcome& outcome) {
  std::vector<std::string> warnings;
  const auto add = [&warnings](const auto& more) {
    warnings.insert(warnings.end(), more.begin(), more.end());
  };
  if (outcome.model) {
    if (const std::string use = model::goes_with(*outcome.model); !use.empty()) {
      warnings.push_back("not a model by itself: " + report::one_line(use));
    }
    add(outcome.model->warnings());
  }
  if (outcome.plan) add(outcome.plan->warnings);
  if (outcome.summary) add(outcome.summary->warnings);
  if (outcome.fit) add(fit_warnings(*outcome.fit, *outcome.summary));
  if (outcome.values) {
    if (std::string zeros = zeros_text(outcome); !zeros.empty()) {
      warnings.push_back(std::move(zeros));
    }
  }
  return warnings;
}

}  // namespace hiptool::results
