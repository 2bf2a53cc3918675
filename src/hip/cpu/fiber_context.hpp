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

/// Where a fiber, or the worker's own stack, was left and resumes. Must not be moved.
class FiberContext {
 public:
  using Entry = void (*)(void* argument);

  FiberContext() = default;
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;

  /// The next switch_to() calls entry(argument) on that stack; the entry never returns.
  void prepare(std::byte* stack, std::size_t bytes, Entry entry, void* argument) {
    entry_ = entry;
    argument_ = argument;
#ifdef HIPTOOL_BOOST_CONTEXT
    left_ = boost::context::detail::make_fcontext(stack + bytes, bytes, &FiberContext::begin);
#else
    getcontext(&left_);
    left_.uc_stack.ss_sp = stack;
    left_.uc_stack.ss_size = bytes;
    left_.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&left_, reinterpret_cast<void (*)()>(&FiberContext::begin), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#endif
  }

  /// From this one, which runs; returns when another one switches to it.
  void switch_to(FiberContext& other) {
#ifdef HIPTOOL_BOOST_CONTEXT
    other.previous_ = this;
    const auto from = boost::context::detail::jump_fcontext(other.left_, &other);
    previous_->left_ = from.fctx;
#else
    swapcontext(&left_, &other.left_);
#endif
  }

 private:
#ifdef HIPTOOL_BOOST_CONTEXT
  static void begin(boost::context::detail::transfer_t from) {
    auto* const self = static_cast<FiberContext*>(from.data);
    self->previous_->left_ = from.fctx;
    self->entry_(self->argument_);
  }

  boost::context::detail::fcontext_t left_ = nullptr;
  FiberContext* previous_ = nullptr;  ///< that switched to this one
#else
  /// makecontext passes only ints.
  static void begin(unsigned high, unsigned low) {
    const std::uintptr_t address = (std::uintptr_t{high} << 32) | low;
    auto* const self = reinterpret_cast<FiberContext*>(address);
    self->entry_(self->argument_);
  }

  ucontext_t left_{};
#endif
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace hiptool::hip::cpu
