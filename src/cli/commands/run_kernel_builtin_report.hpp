// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/environment.hpp"
#include "measure/kernel_bench.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// What --list writes.
report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<measure::KernelFamily>& families);

/// `missed` are the thresholds that were not met, in words.
report::Report kernel_results_report(const Environment& environment,
                                     const std::vector<measure::KernelResult>& results,
                                     const std::vector<std::string>& missed, bool is_interrupted);

}  // namespace hiptool::cli
