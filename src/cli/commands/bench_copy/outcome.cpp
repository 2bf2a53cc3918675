// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"

namespace hiptool::cli {

using report::Status;

std::size_t BenchCopyOutcome::measured() const {
  return count(Status::ok) + count(Status::mismatch);
}

bool BenchCopyOutcome::is_interrupted() const {
  return error && error->code() == ErrorCode::cancelled;
}

std::vector<report::Failure> failures_of(const BenchCopyOutcome& outcome) {
  std::vector<report::Failure> failures = failures_of(outcome.thresholds);
  if (!outcome.baseline) return failures;
  const Baseline& baseline = *outcome.baseline;
  for (const report::Comparison& one : baseline.comparisons) {
    if (one.times.verdict != base::Verdict::slower) continue;
    const bool has_rates = one.before.bytes_per_s && one.after.bytes_per_s;
    failures.push_back({one.id + " against the baseline",
                        has_rates ? one.before.bytes_per_s : one.before.median_s,
                        has_rates ? one.after.bytes_per_s : one.after.median_s});
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
  const std::size_t skipped = outcome.count(Status::skipped);
  if (skipped < outcome.results.size()) return std::nullopt;
  return Error(
      ErrorCode::unavailable, "bench-copy",
      fmt::format("nothing was measured: {} skipped: {}", base::count_of(skipped, "measurement"),
                  fmt::join(report::distinct_reasons(outcome.results), "; ")),
      "choose other copies with --kind, --memory and --engine, or other devices");
}

}  // namespace hiptool::cli
