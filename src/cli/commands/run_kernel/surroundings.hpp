// SPDX-License-Identifier: MIT
/// What a user's kernel may do to the program around it: print, and on the processor end it.
#pragma once
#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>

namespace hiptool::cli {

/// While it lives, what is printed to standard output (by printf in kernels, which the drivers
/// write there too) goes to standard error: standard output is the report's.
class PrintsToError {
 public:
  PrintsToError();
  ~PrintsToError();
  PrintsToError(const PrintsToError&) = delete;
  PrintsToError& operator=(const PrintsToError&) = delete;

 private:
  int output_ = -1;
};

/// What a fault leaves behind on the two standard streams.
struct LastWords {
  std::string output;
  std::string error;
};

/// What a kernel may end the program with.
enum class KernelEnd {
  memory_fault,
  stack_overflow,
  division_by_zero,
  illegal_instruction,
  aborted,
  exited,
};
inline constexpr std::size_t kernel_end_count = 6;

/// While it lives, each of these ends the program with these words, asked for beforehand, and this
/// exit code, instead of nothing but a signal. One at a time.
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
