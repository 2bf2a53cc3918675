// SPDX-License-Identifier: MIT
/// The built-in kernels of run-kernel.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace hiptool::cli {

struct BuiltinKernelOptions {
  std::vector<std::string> names;   ///< families, groups or "all"
  bool list = false;                ///< only names them
  std::vector<std::string> dtypes;  ///< comma-separated lists
  std::string size;                 ///< sizes, or a share of the free memory: "80%"
  std::uint64_t samples = 0;        ///< 0: until the noise is low enough
  std::uint64_t seconds = 0;        ///< to go on for
  std::vector<std::string> fail_below;
};

/// Runs them on the chosen devices and writes the report. Gives back 0, 1 for a threshold that was
/// missed, and the codes of a mismatch, a failed call or an interruption. Throws
/// Error(invalid_argument) and Error(not_found) before anything runs.
int run_builtin_kernels(const BuiltinKernelOptions& options, Context& context);

}  // namespace hiptool::cli
