// SPDX-License-Identifier: MIT
#include "cli/commands/kernel_surroundings.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace hiptool::cli {
namespace {

struct Fault {
  int signal;
  const char* name;
  LastWords words;
};

// Reached from the signal handler: whole before that is installed.
std::array<Fault, 4> faults{{{SIGSEGV, "a memory fault", {}},
                             {SIGBUS, "a memory fault", {}},
                             {SIGFPE, "an integer division by zero", {}},
                             {SIGILL, "an illegal instruction", {}}}};
int last_exit_code = 0;
int output_descriptor = STDOUT_FILENO;

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

extern "C" void on_fault(int signal) {
  for (const Fault& fault : faults) {
    if (fault.signal != signal) continue;
    write_all(STDERR_FILENO, fault.words.error);
    write_all(output_descriptor, fault.words.output);
  }
  ::_exit(last_exit_code);
}

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

FaultsEndWith::FaultsEndWith(const std::function<LastWords(const std::string& fault)>& words,
                             int exit_code) {
  last_exit_code = exit_code;
  for (Fault& fault : faults) fault.words = words(fault.name);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = on_fault;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(faults[i].signal, &action, &old_[i]);
  }
}

FaultsEndWith::~FaultsEndWith() {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    ::sigaction(faults[i].signal, &old_[i], nullptr);
  }
}

}  // namespace hiptool::cli
