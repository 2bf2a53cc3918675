// SPDX-License-Identifier: MIT
/// What people see of a run of `check`: the verdict, the grid of stages and devices, the notes.
#pragma once
#include <string>
#include <vector>

#include "accept/accept.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// The failed stages, the worst first.
std::vector<const accept::StageResult*> failed_stages(const accept::CheckOutcome& outcome);

/// Whether the machine is accepted; else every fault in full, each followed by what to do. A fault
/// that several devices share is one line.
std::vector<report::Line> check_verdict(const accept::CheckOutcome& outcome);

/// A line for each stage, a column for each group of devices of one name that fared alike, and the
/// figures of one of them. A stage that an interrupt kept from a device is "not run".
report::Table stage_grid(const accept::CheckOutcome& outcome);

/// What was skipped and why, what was compared, warnings, files that were written.
std::vector<report::Line> check_notes(const accept::CheckOutcome& outcome);

/// The device of a stage, or "machine".
std::string device_or_machine(const accept::StageResult& stage);

}  // namespace hiptool::results
