// SPDX-License-Identifier: MIT
#include "report/document_v1.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "report/document.hpp"

namespace hiptool::report {
namespace {

bool is_false_v1(const Value& value) {
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

std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ".";
    text += part;
  }
  return text;
}

// What copies and kernels have in common.
Measurement common_v1(const Value& entry) {
  Measurement result;
  result.id = text_of(member(entry, "id"));
  result.size_bytes = count_of(member(entry, "size_bytes")).value_or(0);
  result.status = parse_status(text_of(member(entry, "status")));
  result.reason = text_of(member(entry, "reason"));
  read_times(entry, result);
  return result;
}

// Of `check`: a copy, a kernel or a product.
Measurement stage_v1(const Value& entry) {
  Measurement result = common_v1(entry);
  result.source = text_of(member(entry, "source"));
  result.destination = text_of(member(entry, "destination"));
  result.bytes_per_s = number_of(member(entry, "median_bytes_per_s"));
  result.low_bytes_per_s = number_of(member(entry, "p05_bytes_per_s"));
  result.high_bytes_per_s = number_of(member(entry, "p95_bytes_per_s"));
  result.flops_per_s = number_of(member(entry, "flops_per_s"));
  result.share_of_limit = number_of(member(entry, "share_of_limit"));
  explain_share(result);
  result.set_names();
  return result;
}

Measurement copy_v1(const Value& entry) {
  Measurement result = stage_v1(entry);
  if (!result.label.empty()) return result;
  // Where the id has no label, the fields have to do.
  result.series = joined({text_of(member(entry, "kind")), text_of(member(entry, "memory")),
                          text_of(member(entry, "engine"))});
  result.label = joined({result.series, size_word(result.size_bytes)});
  if (result.id.empty()) result.id = joined({result.label, result.source, result.destination});
  return result;
}

Measurement kernel_v1(const Value& entry) {
  Measurement result = common_v1(entry);
  result.destination = text_of(member(entry, "device"));
  result.bytes_per_s = number_of(member(entry, "bytes_per_s"));
  result.flops_per_s = number_of(member(entry, "flops_per_s"));
  result.share_of_limit = number_of(member(entry, "share_of_peak"));
  result.share_reason = text_of(member(entry, "share_reason"));
  explain_share(result);
  const std::string series =
      joined({text_of(member(entry, "kernel")), text_of(member(entry, "dtype"))});
  const auto count = count_of(member(entry, "elements"));
  result.label = joined({series, count ? std::to_string(*count) : std::string()});
  result.set_names();
  result.series = series;
  if (result.id.empty()) result.id = joined({result.label, result.destination});
  return result;
}

}  // namespace

bool passed_v1(const Object& document) {
  if (has_ended_badly(text_of(member(document, "status")))) return false;
  if (has_bad_measurements(member(document, "results"))) return false;
  // The `cells` of a comparison have verdicts, the `cells` of bench-copy a status.
  if (has_bad_measurements(member(document, "cells"))) return false;
  if (!member(document, "error").is_absent()) return false;
  for (const Value& threshold : elements(member(document, "thresholds"))) {
    if (is_false_v1(member(threshold, "is_met"))) return false;
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

std::vector<Measurement> measurements_v1(const Object& document, const std::string& command) {
  if (command == "load") return load_measurements(read_models(document));
  const std::array<std::tuple<std::string_view, const char*, Measurement (*)(const Value&)>, 3>
      dialects{{{"bench-copy", "cells", copy_v1},
                {"check", "cells", stage_v1},
                {"run-kernel", "results", kernel_v1}}};
  std::vector<Measurement> results;
  for (const auto& [name, key, read] : dialects) {
    if (command != name) continue;
    for (const Value& entry : elements(member(document, key))) results.push_back(read(entry));
  }
  return results;
}

std::vector<ThresholdResult> thresholds_v1(const Object& document) {
  std::vector<ThresholdResult> results;
  for (const Value& entry : elements(member(document, "thresholds"))) {
    results.push_back(read_threshold(entry));
    results.back().id = text_of(member(entry, "cell"));
  }
  return results;
}

std::vector<Comparison> comparisons_v1(const Object& document, const std::string& command) {
  std::vector<Comparison> results;
  for (const Value& entry :
       elements(member(document, command == "report" ? "cells" : "baseline"))) {
    results.push_back(read_comparison(entry));
  }
  return results;
}

// A failure had only its name, which begins with the threshold that was missed.
std::vector<Failure> failures_v1(const Object& document) {
  std::vector<Failure> failures;
  std::set<std::string> thresholds;
  for (const Value& entry : elements(member(document, "thresholds"))) {
    thresholds.insert(text_of(member(entry, "threshold")));
  }
  for (const Value& entry : elements(member(document, "failures"))) {
    Failure failure{text_of(member(entry, "what")), member(entry, "expected"),
                    member(entry, "got")};
    for (std::size_t end = failure.what.find(' '); end != std::string::npos;
         end = failure.what.find(' ', end + 1)) {
      if (thresholds.count(failure.what.substr(0, end)) == 0) continue;
      failure.kind = FailureKind::threshold;
      failure.subject.measurement = failure.what.substr(end + 1);
    }
    failures.push_back(std::move(failure));
  }
  return failures;
}

}  // namespace hiptool::report
