// SPDX-License-Identifier: MIT
/// What the doctor found, for reports.
#pragma once
#include <vector>

#include "machine/doctor/doctor.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// The fields of `checks` of the JSON document.
report::Table checks_table(const std::vector<machine::Check>& checks);

/// The fields of `libraries` of the JSON document.
report::Table libraries_table(const std::vector<machine::LibraryAnswer>& libraries);

/// "2 checks failed, 1 warns: kfd-perm, render-node, numa"; "1 check warns: numa"; without a GPU,
/// which is a failure of its own, "6 host checks passed, 33 unknown without a GPU".
report::Line doctor_verdict(const std::vector<machine::Check>& checks, bool has_gpu);

/// For people: each finding with its fix, the same of several devices once, and a line for the
/// passed and one for each reason of unknown checks; all in full if `verbose`.
std::vector<report::Line> finding_lines(const std::vector<machine::Check>& checks, bool verbose);

/// The failed checks: id and device, expected and read values.
std::vector<report::Failure> doctor_failures(const std::vector<machine::Check>& checks);

/// 1 if a check failed, else 0.
int doctor_exit_code(const std::vector<machine::Check>& checks) noexcept;

}  // namespace hiptool::results
