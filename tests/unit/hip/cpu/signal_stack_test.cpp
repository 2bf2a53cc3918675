// SPDX-License-Identifier: MIT
#include "hip/cpu/signal_stack.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <thread>
#include <vector>

using hiptool::hip::cpu::SignalStack;

namespace {

stack_t present() {
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  return stack;
}

volatile std::sig_atomic_t was_on_it = 0;

extern "C" void look_at_stack(int) { was_on_it = (present().ss_flags & SS_ONSTACK) != 0 ? 1 : 0; }

}  // namespace

TEST_CASE("signal stack: handlers that ask for one run on it") {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = look_at_stack;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, &before);
  was_on_it = 0;
  std::thread([] {
    const SignalStack stack;
    pthread_kill(pthread_self(), SIGUSR2);
  }).join();
  CHECK(was_on_it == 1);
  sigaction(SIGUSR2, &before, nullptr);
}

TEST_CASE("signal stack: a thread's own is kept, and none is left behind") {
  std::vector<char> memory(64 * 1024);
  std::thread([&memory] {
    stack_t first = present();  // a sanitizer may have made one
    {
      const SignalStack stack;
      CHECK((present().ss_flags & SS_DISABLE) == 0);
    }
    CHECK(present().ss_flags == first.ss_flags);
    stack_t own{};
    own.ss_sp = memory.data();
    own.ss_size = memory.size();
    sigaltstack(&own, nullptr);
    {
      const SignalStack stack;
      CHECK(present().ss_sp == memory.data());
    }
    CHECK(present().ss_sp == memory.data());
    sigaltstack(&first, nullptr);
  }).join();
}
