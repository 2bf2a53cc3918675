// SPDX-License-Identifier: MIT
/// Two ways to switch to another stack: Boost.Context, or the system's slower ucontext.
#pragma once
#include <cstddef>
#include <cstdint>

#ifdef HIPTOOL_BOOST_CONTEXT
#include <boost/context/detail/fcontext.hpp>
#else
#include <ucontext.h>
#endif

namespace hiptool::hip::cpu {

/// Where a fiber resumes, and where its worker does. Must not be moved.
class FiberContext {
 public:
  using Entry = void (*)(void* argument);

  FiberContext() = default;
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;

  /// The next enter() calls entry(argument) on that stack; the entry never returns.
  void prepare(std::byte* stack, std::size_t bytes, Entry entry, void* argument) {
    entry_ = entry;
    argument_ = argument;
#ifdef HIPTOOL_BOOST_CONTEXT
    inside_ = boost::context::detail::make_fcontext(stack + bytes, bytes, &FiberContext::begin);
#else
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack;
    inside_.uc_stack.ss_size = bytes;
    inside_.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&FiberContext::begin), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#endif
  }

  /// From the worker: the fiber runs until it leaves.
  void enter() {
#ifdef HIPTOOL_BOOST_CONTEXT
    inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
#else
    swapcontext(&outside_, &inside_);
#endif
  }

  /// From the fiber: the worker resumes, until it enters again.
  void leave() {
#ifdef HIPTOOL_BOOST_CONTEXT
    outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
#else
    swapcontext(&inside_, &outside_);
#endif
  }

 private:
#ifdef HIPTOOL_BOOST_CONTEXT
  static void begin(boost::context::detail::transfer_t from) {
    auto* const self = static_cast<FiberContext*>(from.data);
    self->outside_ = from.fctx;
    self->entry_(self->argument_);
  }

  boost::context::detail::fcontext_t inside_ = nullptr;
  boost::context::detail::fcontext_t outside_ = nullptr;
#else
  /// makecontext passes only ints.
  static void begin(unsigned high, unsigned low) {
    const std::uintptr_t address = (std::uintptr_t{high} << 32) | low;
    auto* const self = reinterpret_cast<FiberContext*>(address);
    self->entry_(self->argument_);
  }

  ucontext_t inside_{};
  ucontext_t outside_{};
#endif
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace hiptool::hip::cpu
