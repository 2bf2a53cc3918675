// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cli/environment.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel/bench.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// What --list writes. Tables for people are narrow, those for programs have every column.
report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<measure::KernelFamily>& families,
                                  bool for_people);

/// What became of one threshold.
struct KernelJudgement {
  std::string threshold;  ///< as it was written
  std::string below;      ///< what is below it, in words; empty: it is met
};

/// Everything a run of built-in kernels found out.
struct BuiltinOutcome {
  std::string status = "ok";
  std::vector<measure::KernelResult> results;
  std::vector<KernelJudgement> judgements;

  bool is_good_enough() const;  ///< every threshold is met
  std::size_t count(measure::KernelStatus wanted) const;
};

/// One result in a line: "stream-triad.f32.1GiB@nvidia:0: 3.95 TB/s, 82 % of peak".
std::string describe_result(const measure::KernelResult& result);

/// `error` is what made the run fail, if anything did.
report::Report kernel_results_report(const Environment& environment, const BuiltinOutcome& outcome,
                                     const Error* error, bool for_people);

}  // namespace hiptool::cli
