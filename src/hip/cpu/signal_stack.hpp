// SPDX-License-Identifier: MIT
/// The stack of a thread's signal handlers that request one of their own (SA_ONSTACK).
#pragma once
#include <cstddef>
#include <memory>

namespace hiptool::hip::cpu {

/// Gives the calling thread such a stack, unless it has one: a kernel that has used up its own
/// leaves none to a handler. Belongs to that thread.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace hiptool::hip::cpu
