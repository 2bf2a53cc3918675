// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/surroundings.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>

#include "base/file.hpp"
#include "hip/cpu/block_runner.hpp"
#include "user_kernel/cpu_compile.hpp"

namespace hiptool::cli {
namespace {

constexpr std::array fault_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Used by the signal handler: complete before it is installed.
std::array<LastWords, kernel_end_count> words_of_ends;
std::atomic_flag is_ending;
int last_exit_code = 0;
int output_descriptor = STDOUT_FILENO;

KernelEnd end_of(int signal, const void* address) {
  if (signal == SIGFPE) return KernelEnd::division_by_zero;
  if (signal == SIGILL) return KernelEnd::illegal_instruction;
  if (signal == SIGABRT) return KernelEnd::aborted;
  return hip::cpu::is_stack_overflow(address) ? KernelEnd::stack_overflow : KernelEnd::memory_fault;
}

[[noreturn]] void end_with_words(KernelEnd end) {
  // Blocks run on several threads; only one writes the message.
  while (is_ending.test_and_set()) ::pause();
  const LastWords& words = words_of_ends[static_cast<std::size_t>(end)];
  base::write_all(STDERR_FILENO, words.error);
  base::write_all(output_descriptor, words.output);
  ::_exit(last_exit_code);
}

extern "C" void on_fault(int signal, siginfo_t* info, void*) {
  end_with_words(end_of(signal, info->si_addr));
}

void on_kernel_exit(int) { end_with_words(KernelEnd::exited); }

}  // namespace

PrintsToError::PrintsToError() {
  std::fflush(stdout);
  output_ = ::dup(STDOUT_FILENO);
  if (output_ < 0) return;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  output_descriptor = output_;
}

PrintsToError::~PrintsToError() {
  if (output_ < 0) return;
  std::fflush(stdout);
  ::dup2(output_, STDOUT_FILENO);
  ::close(output_);
  output_descriptor = STDOUT_FILENO;
}

FaultsEndWith::FaultsEndWith(const std::function<LastWords(KernelEnd end)>& words, int exit_code) {
  last_exit_code = exit_code;
  for (std::size_t i = 0; i < words_of_ends.size(); ++i) {
    words_of_ends[i] = words(static_cast<KernelEnd>(i));
  }
  for (std::size_t i = 0; i < fault_signals.size(); ++i) {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    // The kernel's own stack may be used up.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(fault_signals[i], &action, &old_[i]);
  }
  user_kernel::set_kernel_exit(&on_kernel_exit);
}

FaultsEndWith::~FaultsEndWith() {
  user_kernel::set_kernel_exit(nullptr);
  for (std::size_t i = 0; i < fault_signals.size(); ++i) {
    ::sigaction(fault_signals[i], &old_[i], nullptr);
  }
}

}  // namespace hiptool::cli
