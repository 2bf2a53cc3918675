// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/environment.hpp"
#include "measure/kernel/bench.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// What --list writes.
report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<measure::KernelFamily>& families);

/// Everything a run of built-in kernels found out.
struct BuiltinOutcome {
  std::vector<measure::KernelResult> results;
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Error> error;  ///< that ended the run or a kernel

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
  bool is_interrupted() const { return error && error->code() == ErrorCode::cancelled; }
};

/// One result in a line: "stream-triad.f32.1GiB@nvidia:0: 3.95 TB/s, 82 % of peak".
std::string describe_result(const measure::KernelResult& result);

/// `run` has its verdict.
report::Report kernel_results_report(report::Run run, const BuiltinOutcome& outcome);

/// `wrong` of a document.
report::Value wrong_value(const std::optional<report::WrongData>& wrong);

}  // namespace hiptool::cli
