// SPDX-License-Identifier: MIT
#include "cli/exit_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace hiptool::cli {
namespace {

constexpr int signal_base = 128;
constexpr int exit_internal = 7;

constexpr std::array rows{
    ExitCodeDoc{exit_done, "passed; some items, not all, may have been skipped with a reason"},
    ExitCodeDoc{exit_check_failed,
                "a check, threshold, comparison (SLOWER) or value test (NaN) failed"},
    ExitCodeDoc{2, "wrong usage: unknown command or option, bad value or combination"},
    ExitCodeDoc{3, "no usable device, not enough device memory, or nothing measured or run"},
    ExitCodeDoc{4, "an input file is missing, unreadable, damaged or unsupported"},
    ExitCodeDoc{5, "wrong data: bytes on the device, or results of a kernel or model, differ"},
    ExitCodeDoc{6, "a device or runtime call failed or timed out"},
    ExitCodeDoc{exit_internal, "host failure: disk full or failing, no output possible, no memory"},
    ExitCodeDoc{signal_base + SIGINT, "interrupted by SIGINT (Ctrl-C)"},
    ExitCodeDoc{signal_base + SIGTERM, "interrupted by SIGTERM"},
    ExitCodeDoc{signal_base + SIGHUP, "interrupted by SIGHUP (the terminal was closed)"},
};

// "invalid_argument, out_of_bounds", the codes that lead to an exit code.
std::string codes_of(int exit_code) {
  std::string text;
  for (int i = 0; i <= static_cast<int>(ErrorCode::host_failed); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const int signal = exit_code > signal_base ? exit_code - signal_base : 0;
    if (exit_code_of(code, signal) != exit_code) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(code));
  }
  return text;
}

}  // namespace

int exit_code_of(ErrorCode code, int signal) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::out_of_bounds:
    case ErrorCode::not_found:
    case ErrorCode::unsupported: return 2;
    case ErrorCode::unavailable:
    case ErrorCode::out_of_memory: return 3;
    case ErrorCode::input_failed:
    case ErrorCode::corrupt_data:
    case ErrorCode::manifest_mismatch: return 4;
    case ErrorCode::data_mismatch: return 5;
    case ErrorCode::device:
    case ErrorCode::device_lost:
    case ErrorCode::timed_out: return 6;
    case ErrorCode::cancelled: return signal_base + (signal == 0 ? SIGINT : signal);
    case ErrorCode::output_failed:
    case ErrorCode::host_out_of_memory:
    case ErrorCode::host_failed:
    case ErrorCode::internal: break;
  }
  return exit_internal;
}

int severity_of(int exit_code) noexcept {
  constexpr std::array worst_last{exit_done, exit_check_failed, 2, 3, 4, exit_internal, 6, 5};
  const auto found = std::find(worst_last.begin(), worst_last.end(), exit_code);
  return static_cast<int>(found - worst_last.begin());  // signals are not in the list
}

std::vector<ExitCodeDoc> exit_code_docs() { return {rows.begin(), rows.end()}; }

std::string exit_codes_text() {
  std::string text = "Exit codes, with the matching error.code values of JSON documents:\n\n";
  for (const ExitCodeDoc& row : rows) {
    text += fmt::format("  {:>3}  {}\n", row.exit_code, row.meaning);
    const std::string codes = codes_of(row.exit_code);
    if (!codes.empty()) text += fmt::format("       ({})\n", codes);
  }
  return text +
         "\nIf several things failed, the code is the first of 5, 6, 4, 1.\n"
         "\nEvery output format carries the same verdict: exit_code, passed and, on exit 1,\n"
         "failures in JSON; the last two columns in CSV; hiptool_success and\n"
         "hiptool_exit_code for Prometheus; a failure or error in JUnit unless the code\n"
         "is 0.\n"
         "\nIf the reader closes the pipe early, output stops and the exit code is kept.\n";
}

}  // namespace hiptool::cli
