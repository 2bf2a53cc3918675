// SPDX-License-Identifier: MIT
#include "hip/cpu/signal_stack.hpp"

#include <csignal>
#include <new>

namespace hiptool::hip::cpu {
namespace {

// The registers that the system saves there may alone take more than 8 KiB.
constexpr std::size_t stack_bytes = 64 * 1024;

}  // namespace

SignalStack::SignalStack() {
  stack_t stack{};
  // The address sanitizer has its own, and takes it back itself.
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  memory_.reset(new (std::nothrow) std::byte[stack_bytes]);
  if (memory_ == nullptr) return;
  stack = {};
  stack.ss_sp = memory_.get();
  stack.ss_size = stack_bytes;
  if (sigaltstack(&stack, nullptr) != 0) memory_.reset();
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace hiptool::hip::cpu
