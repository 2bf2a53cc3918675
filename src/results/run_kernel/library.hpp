// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "measure/library/measure.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// Everything a run of matrix products, or of convolutions, found out.
struct LibraryOutcome {
  measure::ProblemKind kind = measure::ProblemKind::matmul;
  std::vector<measure::LibraryResult> results;
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Error> error;
  std::uint64_t seed = 1;

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
};

/// "matmul.f32.512x512x512.own@cpu:0: 25.1 GFLOP/s, right"
std::string describe_result(const measure::LibraryResult& result);

/// Wrong results and missed thresholds.
std::vector<report::Failure> failures_of(const LibraryOutcome& outcome);

/// `run` has its verdict.
report::Report library_report(report::Run run, const LibraryOutcome& outcome);

}  // namespace hiptool::results
