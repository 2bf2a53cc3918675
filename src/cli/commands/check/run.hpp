// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "accept/accept.hpp"
#include "cli/command.hpp"

namespace hiptool::cli {

struct CheckCommandOptions {
  std::optional<std::string> level;
  std::string stages;  ///< a comma-separated list; empty: all
  std::string model;
  std::string expect;
  std::string write_expect;
  bool force = false;            ///< it replaces a file of another kind
  std::uint64_t repeats = 0;     ///< with write_expect; 0: 3
  std::string margin;            ///< "5%"; empty: that
  std::string spread;            ///< "10%"; empty: that
  std::string duration;          ///< of the soak: "10m"; empty: that
  std::string timeout;           ///< seconds; empty: 30
  std::uint64_t size_bytes = 0;  ///< 0: depends on the device
  std::string peers;             ///< a list of hosts; empty: the hosts of the Slurm job
  std::uint64_t peer_port = 0;   ///< 0: 29480
};

/// Chooses devices, examines the machine and runs all stages. Fills the outcome in steps. Throws
/// Error for wrong options and where no device can be used, before anything is measured.
void run_check_steps(const CheckCommandOptions& options, Context& context,
                     accept::CheckOutcome& outcome);

}  // namespace hiptool::cli
