// SPDX-License-Identifier: MIT
#include "cli/exit_code.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <string_view>

namespace hiptool::cli {
namespace {

constexpr int signal_base = 128;

constexpr std::array rows{
    ExitCodeDoc{exit_done, "passed; some items, not all, may have been skipped with a reason"},
    ExitCodeDoc{exit_check_failed,
                "a check, threshold, comparison (SLOWER) or value test (NaN) failed"},
    ExitCodeDoc{2, "wrong usage: unknown command or option, bad value or combination"},
    ExitCodeDoc{3, "no usable device, not enough device memory, or nothing measured or run"},
    ExitCodeDoc{4, "an input file is missing, unreadable, damaged or unsupported"},
    ExitCodeDoc{5, "wrong data: bytes on the device, or results of a kernel or model, differ"},
    ExitCodeDoc{6, "a device or runtime call failed or timed out"},
    ExitCodeDoc{7, "host failure: disk full or failing, no output possible, no memory"},
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

std::vector<ExitCodeDoc> exit_code_docs() { return {rows.begin(), rows.end()}; }

std::string several_failures_text() {
  return fmt::format("If several things failed, the code is the first of {}.\n",
                     report::order_of_severity());
}

std::string exit_codes_text() {
  std::string text = "Exit codes, with the matching error.code values of JSON documents:\n\n";
  for (const ExitCodeDoc& row : rows) {
    text += fmt::format("  {:>3}  {}\n", row.exit_code, row.meaning);
    const std::string codes = codes_of(row.exit_code);
    if (!codes.empty()) text += fmt::format("       ({})\n", codes);
  }
  return text + "\n" + several_failures_text() +
         "\nEvery output format carries the same verdict: exit_code, passed and, on exit 1,\n"
         "failures in JSON; the last two columns in CSV; hiptool_success and\n"
         "hiptool_exit_code for Prometheus; a failure or error in JUnit unless the code\n"
         "is 0.\n"
         "\nIf the reader closes the pipe early, output stops and the exit code is kept. An\n"
         "output that cannot be written stops no other: documents have the exit code of\n"
         "the run, and the process ends with 7, unless the run's own code comes first.\n";
}

}  // namespace hiptool::cli
