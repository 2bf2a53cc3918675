// SPDX-License-Identifier: MIT
#include "accept/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "accept/stages.hpp"
#include "base/text.hpp"
#include "report/verdict.hpp"

namespace hiptool::accept {
namespace {

constexpr std::array<std::string_view, 4> level_words{"prolog", "quick", "standard", "long"};

Fault fault_of_check(const machine::Check& check) {
  return {check.code,
          check.id,
          check.device,
          check.read,
          check.fix,
          std::nullopt,
          report::text_or_absent(check.expected),
          report::text_or_absent(check.read),
          check.severity};
}

/// Checks of one device, or with an empty id of the machine.
StageResult doctor_result(const std::vector<machine::Check>& checks, const std::string& device) {
  StageResult result;
  result.stage = "doctor";
  result.device = device;
  std::size_t passed = 0;
  std::vector<std::string> warnings;
  for (const machine::Check& check : checks) {
    if (check.device != device) continue;
    if (check.severity == machine::Severity::fail) {
      result.faults.push_back(fault_of_check(check));
    } else if (check.severity == machine::Severity::warn) {
      result.warnings.push_back(fault_of_check(check));
      warnings.push_back(check.id);
    } else if (check.severity != machine::Severity::unknown) {
      ++passed;
    }
  }
  if (!result.faults.empty()) {
    result.status = StageStatus::failed;
  } else if (passed + warnings.size() == 0) {
    result.reason = device.empty() ? "nothing to examine" : "no check concerns it alone";
  } else {
    result.status = StageStatus::passed;
    result.figures = base::count_of(passed, "check") + " passed";
    if (!warnings.empty()) result.figures += fmt::format("; warns: {}", fmt::join(warnings, ", "));
  }
  return result;
}

}  // namespace

std::string_view to_string(CheckLevel level) noexcept {
  return level_words[static_cast<std::size_t>(level)];
}

std::optional<CheckLevel> parse_check_level(std::string_view text) noexcept {
  const auto found = std::find(level_words.begin(), level_words.end(), text);
  if (found == level_words.end()) return {};
  return static_cast<CheckLevel>(found - level_words.begin());
}

std::string_view to_string(StageStatus status) noexcept {
  switch (status) {
    case StageStatus::passed: return "passed";
    case StageStatus::failed: return "failed";
    case StageStatus::skipped: break;
  }
  return "skipped";
}

const std::vector<Stage>& all_stages() {
  static const std::vector<Stage> stages{{"doctor"},
                                         {"copy", true, true, nullptr, copy_stage},
                                         {"memory", true, true, memory_stage},
                                         {"kernels", true, true, kernels_stage},
                                         {"operations", false, true, operations_stage},
                                         {"libraries", true, true, libraries_stage},
                                         {"model", false, false, model_stage},
                                         {"coherence", false, true, coherence_stage},
                                         {"collective", false, true, nullptr, collective_stage},
                                         {"network", false, true, nullptr, network_stage},
                                         {"soak", false, false, soak_stage}};
  return stages;
}

std::vector<std::string> names_of_stages(bool Stage::*property) {
  std::vector<std::string> names;
  for (const Stage& stage : all_stages()) {
    if (property == nullptr || stage.*property) names.push_back(stage.name);
  }
  return names;
}

std::vector<std::string> stages_of_level(CheckLevel level) {
  if (level == CheckLevel::prolog) return {"doctor", "copy", "kernels"};
  std::vector<std::string> names = names_of_stages();
  std::erase(names, "network");
  if (level != CheckLevel::extended) std::erase(names, "soak");
  return names;
}

int exit_code_of(const Fault& fault) noexcept {
  return fault.error ? report::exit_code_of(fault.error->code()) : report::exit_check_failed;
}

bool is_worse(const Fault& left, const Fault& right) noexcept {
  return report::severity_of(exit_code_of(left)) > report::severity_of(exit_code_of(right));
}

std::string StageResult::text_of(const Fault& fault) const {
  const std::string what = fault.device == device ? fault.what : fault.id();
  const bool is_named = what == stage || fault.reason.starts_with(what + ' ');
  return is_named ? fault.reason : what + ": " + fault.reason;
}

std::string code_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::timed_out: return machine::codes::hang;
    case ErrorCode::device_lost: return machine::codes::device_lost;
    case ErrorCode::device: return machine::codes::call_failed;
    case ErrorCode::out_of_memory:
    case ErrorCode::host_out_of_memory: return machine::codes::no_memory;
    case ErrorCode::output_failed:
    case ErrorCode::host_failed: return machine::codes::host_failed;
    case ErrorCode::input_failed:
    case ErrorCode::corrupt_data:
    case ErrorCode::manifest_mismatch: return machine::codes::model_file;
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::unavailable: return machine::codes::not_usable;
    case ErrorCode::out_of_bounds:
    case ErrorCode::data_mismatch:
    case ErrorCode::cancelled:
    case ErrorCode::internal: break;
  }
  return machine::codes::internal;
}

Fault fault_of(std::string code, const report::Measurement& measured) {
  Fault fault;
  fault.code = std::move(code);
  const bool is_of_one = measured.devices.size() == 1;
  fault.what = is_of_one ? measured.label : measured.id;
  if (is_of_one) fault.device = measured.devices.front();
  return fault;
}

std::string StageResult::text() const {
  if (was_interrupted && !figures.empty()) return reason + "; until then: " + figures;
  if (status == StageStatus::skipped) return reason;
  if (status == StageStatus::passed) return figures;
  std::string text = text_of(faults.front());
  if (faults.size() > 1) text += fmt::format("; and {} more", faults.size() - 1);
  return text;
}

const StageResult* CheckResult::worst() const {
  const StageResult* worst = nullptr;
  for (const StageResult& one : stages) {
    if (one.status != StageStatus::failed) continue;
    if (worst == nullptr || is_worse(one.faults.front(), worst->faults.front())) worst = &one;
  }
  return worst;
}

std::size_t CheckResult::count(StageStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(stages.begin(), stages.end(),
                    [status](const StageResult& one) { return one.status == status; }));
}

std::vector<StageResult> doctor_stage(const std::vector<machine::Check>& checks,
                                      const std::vector<CheckedDevice>& devices, double time_s) {
  std::vector<StageResult> results{doctor_result(checks, "")};
  for (const CheckedDevice& device : devices) results.push_back(doctor_result(checks, device.id));
  for (StageResult& result : results) result.time_s = time_s;
  return results;
}

}  // namespace hiptool::accept
