// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"

namespace hiptool::cli {

using measure::CopyResult;
using measure::CopyStatus;

std::size_t BenchCopyOutcome::count(CopyStatus wanted) const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const CopyResult& result) { return result.status == wanted; }));
}

std::size_t BenchCopyOutcome::measured() const {
  return count(CopyStatus::ok) + count(CopyStatus::mismatch);
}

bool BenchCopyOutcome::is_interrupted() const {
  return error && error->code() == ErrorCode::cancelled;
}

std::vector<report::Failure> failures_of(const BenchCopyOutcome& outcome) {
  std::vector<report::Failure> failures;
  for (const measure::Judgement& judgement : outcome.judgements) {
    if (judgement.is_met) continue;
    failures.push_back({judgement.threshold + " " + judgement.spec, judgement.least_bytes_per_s,
                        judgement.measured_bytes_per_s});
  }
  if (!outcome.baseline) return failures;
  const Baseline& baseline = *outcome.baseline;
  for (const BaselineComparison& compared : baseline.comparisons) {
    if (compared.comparison.verdict != base::Verdict::slower) continue;
    failures.push_back({compared.id + " against the baseline", compared.expected, compared.got});
  }
  if (baseline.comparisons.empty()) {
    failures.push_back({"baseline " + baseline.path, "a measurement that both runs have", "none"});
  } else if (baseline.is_strict) {
    for (const std::string& id : baseline.only_now) {
      failures.push_back(
          {id + " against the baseline", "a measurement in both runs", "not in the baseline"});
    }
    for (const std::string& id : baseline.only_before) {
      failures.push_back(
          {id + " against the baseline", "a measurement in both runs", "not measured now"});
    }
  }
  return failures;
}

std::optional<Error> nothing_measured(const BenchCopyOutcome& outcome) {
  const std::size_t skipped = outcome.count(CopyStatus::skipped);
  if (skipped < outcome.results.size()) return std::nullopt;
  std::vector<std::string> reasons;
  for (const CopyResult& result : outcome.results) {
    if (std::find(reasons.begin(), reasons.end(), result.reason) == reasons.end()) {
      reasons.push_back(result.reason);
    }
  }
  return Error(ErrorCode::unavailable, "bench-copy",
               fmt::format("nothing was measured: {} skipped: {}",
                           base::count_of(skipped, "measurement"), fmt::join(reasons, "; ")),
               "choose other copies with --kind, --memory and --engine, or other devices");
}

}  // namespace hiptool::cli
