// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace hiptool::cli {

struct RunKernelOptions {
  std::string module;  ///< the user's file
  std::string name;    ///< empty: the only kernel in it
  std::string grid;    ///< "X[,Y[,Z]]"
  std::string block;
  std::uint64_t shared_bytes = 0;
  std::vector<std::string> arguments;
  std::vector<std::string> outputs;   ///< "I:print:N" or "I:FILE"
  std::vector<std::string> expected;  ///< "I:FILE"
  std::string tolerance;
  std::uint64_t samples = 1;
};

Command run_kernel_command();
Runner add_run_kernel(CLI::App& app);
int run_run_kernel(const RunKernelOptions& options, Context& context);

}  // namespace hiptool::cli
