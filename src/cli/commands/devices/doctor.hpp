// SPDX-License-Identifier: MIT
/// `devices --doctor`: asks each driver in a process of its own and examines the machine.
#pragma once
#include <vector>

#include "cli/command.hpp"
#include "measure/doctor/doctor.hpp"
#include "measure/inventory.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

struct Diagnosis {
  measure::Inventory inventory;
  measure::Evidence evidence;
  std::vector<measure::Check> checks;
};

/// Asks the platforms that the selection concerns and keeps its devices. No driver is opened in
/// this process if the environment names the program; a driver that hangs is known within 5 s.
/// Throws Error(unavailable) for a device that is not there.
Diagnosis diagnose(const DeviceSelection& selection, Context& context);

/// The fields of `checks` of the JSON document.
report::Table checks_table(const std::vector<measure::Check>& checks);

/// "2 checks failed, 1 warns: kfd-perm, render-node, numa".
report::Line doctor_verdict(const std::vector<measure::Check>& checks);

/// What people read: each finding with what to do; what passed or is unknown in a line for each
/// reason, or in full if `verbose`.
std::vector<report::Line> finding_lines(const std::vector<measure::Check>& checks, bool verbose);

/// The checks that failed: id and device, what was expected and what was read.
std::vector<report::Failure> doctor_failures(const std::vector<measure::Check>& checks);

/// 1 if a check failed, else 0.
int doctor_exit_code(const std::vector<measure::Check>& checks) noexcept;

}  // namespace hiptool::cli
