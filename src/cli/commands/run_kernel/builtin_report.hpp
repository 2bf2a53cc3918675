// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/environment.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel/bench.hpp"
#include "measure/kernel/thresholds.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace hiptool::cli {

/// What --list writes. Tables for people are narrow, those for programs have every column.
report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<measure::KernelFamily>& families,
                                  bool for_people);

/// What became of one threshold.
struct KernelJudgement {
  std::string threshold;  ///< as it was written
  std::vector<measure::MissedResult> missed;
};

/// Everything a run of built-in kernels found out.
struct BuiltinOutcome {
  std::vector<measure::KernelResult> results;
  std::vector<KernelJudgement> judgements;
  std::optional<Error> error;  ///< that ended the run or a kernel

  std::size_t count(measure::KernelStatus wanted) const;
  bool is_interrupted() const;
};

/// What missed its threshold.
std::vector<report::Failure> failures_of(const BuiltinOutcome& outcome);

/// One result in a line: "stream-triad.f32.1GiB@nvidia:0: 3.95 TB/s, 82 % of peak".
std::string describe_result(const measure::KernelResult& result);

/// `head` holds the fields that begin every document and the verdict.
report::Report kernel_results_report(report::Object head, const BuiltinOutcome& outcome,
                                     bool for_people);

}  // namespace hiptool::cli
