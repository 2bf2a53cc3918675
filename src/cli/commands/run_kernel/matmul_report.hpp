// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "measure/matmul/measure.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Everything a run of matrix products found out.
struct MatmulOutcome {
  std::vector<measure::MatmulResult> results;
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Error> error;
  std::uint64_t seed = 1;

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
};

/// "matmul.f32.512x512x512.own@cpu:0: 25.1 GFLOP/s, right"
std::string describe_matmul(const measure::MatmulResult& result);

/// `run` has its verdict.
report::Report matmul_report(report::Run run, const MatmulOutcome& outcome);

}  // namespace hiptool::cli
