// SPDX-License-Identifier: MIT
#include "cli/exit_code.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <initializer_list>
#include <string_view>

namespace hiptool::cli {
namespace {

struct Row {
  int exit_code;
  std::string_view meaning;
  std::initializer_list<ErrorCode> codes;
};

constexpr int signal_base = 128;
constexpr int exit_internal = 7;

// The elements of a constexpr initializer_list live only as long as the list, hence named ones.
constexpr std::initializer_list<ErrorCode> usage_codes{
    ErrorCode::invalid_argument, ErrorCode::out_of_bounds, ErrorCode::not_found,
    ErrorCode::unsupported};
constexpr std::initializer_list<ErrorCode> device_missing_codes{ErrorCode::unavailable,
                                                                ErrorCode::out_of_memory};
constexpr std::initializer_list<ErrorCode> input_codes{
    ErrorCode::input_failed, ErrorCode::corrupt_data, ErrorCode::manifest_mismatch};
constexpr std::initializer_list<ErrorCode> data_codes{ErrorCode::data_mismatch};
constexpr std::initializer_list<ErrorCode> runtime_codes{ErrorCode::device, ErrorCode::device_lost,
                                                         ErrorCode::timed_out};
constexpr std::initializer_list<ErrorCode> host_codes{
    ErrorCode::output_failed, ErrorCode::host_out_of_memory, ErrorCode::internal};
constexpr std::initializer_list<ErrorCode> stop_codes{ErrorCode::cancelled};

constexpr std::array rows{
    Row{exit_done, "passed; some items, not all, may have been skipped with a reason", {}},
    Row{exit_check_failed,
        "a check, threshold, comparison (SLOWER) or value test (NaN) failed",
        {}},
    Row{2, "wrong usage: unknown command or option, bad value or combination", usage_codes},
    Row{3, "no usable device, not enough device memory, or nothing measured or run",
        device_missing_codes},
    Row{4, "an input file is missing, unreadable, damaged or unsupported", input_codes},
    Row{5, "wrong data: bytes on the device, or results of a kernel, differ", data_codes},
    Row{6, "a device or runtime call failed or timed out", runtime_codes},
    Row{exit_internal, "host failure: disk full, output not writable, out of memory", host_codes},
    Row{signal_base + SIGINT, "interrupted by SIGINT (Ctrl-C)", stop_codes},
    Row{signal_base + SIGTERM, "interrupted by SIGTERM", stop_codes},
    Row{signal_base + SIGHUP, "interrupted by SIGHUP (the terminal was closed)", stop_codes},
};

}  // namespace

int exit_code_of(ErrorCode code, int signal) noexcept {
  if (code == ErrorCode::cancelled) return signal_base + (signal == 0 ? SIGINT : signal);
  for (const Row& row : rows) {
    for (const ErrorCode candidate : row.codes) {
      if (candidate == code) return row.exit_code;
    }
  }
  return exit_internal;
}

std::string exit_codes_text() {
  std::string text = "Exit codes, with the matching error.code values of JSON documents:\n\n";
  for (const Row& row : rows) {
    text += fmt::format("  {:>3}  {}\n", row.exit_code, row.meaning);
    std::string codes;
    for (const ErrorCode code : row.codes) {
      codes += (codes.empty() ? "" : ", ") + std::string(to_string(code));
    }
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
