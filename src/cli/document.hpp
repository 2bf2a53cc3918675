// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// The run of a command, without a verdict yet.
report::Run make_run(const Environment& environment, std::string_view command,
                     std::string_view status);

/// Ends a run with its verdict and returns the exit code: the error's if there is one, else 1
/// if there are failures, else 0. Wrong data outranks an error: then `is_wrong` alone decides.
int finish_run(report::Run& run, const Environment& environment, const Error* error,
               const std::vector<report::Failure>& failures = {}, bool is_wrong = false);

/// The report of a command that failed before it had any result.
report::Report failure_report(const Environment& environment, std::string_view command,
                              const Error& error);

/// "2026-03-01T12:00:00Z".
std::string iso_time(std::chrono::system_clock::time_point time);

}  // namespace hiptool::cli
