// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/run_kernel/words.hpp"
#include "cli/environment.hpp"
#include "measure/kernel/user_kernel.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// What one device did with the user's kernel.
struct UserKernelOutcome {
  std::string kernel;
  std::string device;
  std::string image;  ///< "a PTX text", "compiled for sm_90"
  measure::UserKernelResult result;
};

/// `outputs` are in the order of the run's.
report::Report user_kernel_report(const Environment& environment, const measure::UserKernelRun& run,
                                  const std::vector<OutputWord>& outputs,
                                  const std::vector<UserKernelOutcome>& outcomes);

}  // namespace hiptool::cli
