// SPDX-License-Identifier: MIT
#include "report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace hiptool::report {
namespace {

constexpr int signal_base = 128;
constexpr int exit_internal = 7;
constexpr std::array worst_first{5, 6, exit_internal, 4, 3, 2, exit_check_failed};

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
  if (exit_code == exit_done) return 0;
  const auto found = std::find(worst_first.begin(), worst_first.end(), exit_code);
  if (found == worst_first.end()) return static_cast<int>(worst_first.size()) + 1;  // a signal
  return static_cast<int>(worst_first.end() - found);
}

int worse_of(int left, int right) noexcept {
  return severity_of(right) > severity_of(left) ? right : left;
}

std::string order_of_severity() { return fmt::format("{}", fmt::join(worst_first, ", ")); }

}  // namespace hiptool::report
