// SPDX-License-Identifier: MIT
/// Contains a user's kernel, which may print and, on the CPU, end the program.
#pragma once
#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>

namespace hiptool::cli {

/// During its lifetime standard output goes to standard error: the drivers write the output of
/// printf in kernels to standard output, where it would corrupt the report.
class PrintsToError {
 public:
  PrintsToError();
  ~PrintsToError();
  PrintsToError(const PrintsToError&) = delete;
  PrintsToError& operator=(const PrintsToError&) = delete;

 private:
  int output_ = -1;
};

/// The text that a fault writes to the two standard streams.
struct LastWords {
  std::string output;
  std::string error;
};

/// The ways in which a kernel may end the program.
enum class KernelEnd {
  memory_fault,
  stack_overflow,
  division_by_zero,
  illegal_instruction,
  aborted,
  exited,
};
inline constexpr std::size_t kernel_end_count = 6;

/// During its lifetime each of these ends the program with a message, composed in advance, and this
/// exit code instead of a bare signal. One object at a time.
class FaultsEndWith {
 public:
  FaultsEndWith(const std::function<LastWords(KernelEnd end)>& words, int exit_code);
  ~FaultsEndWith();
  FaultsEndWith(const FaultsEndWith&) = delete;
  FaultsEndWith& operator=(const FaultsEndWith&) = delete;

 private:
  std::array<struct sigaction, 5> old_{};
};

}  // namespace hiptool::cli
