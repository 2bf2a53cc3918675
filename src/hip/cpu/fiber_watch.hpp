// SPDX-License-Identifier: MIT
/// Fiber switches for the sanitizers and valgrind; nothing in other builds. The files that include
/// it are compiled without the thread sanitizer, so the build says by HIPTOOL_THREAD_SANITIZER that
/// the kernels have it.
#pragma once
#include <algorithm>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HIPTOOL_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HIPTOOL_ADDRESS_SANITIZER
#endif
#endif

#ifdef HIPTOOL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HIPTOOL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

namespace hiptool::hip::cpu {

/// Tells valgrind of a stack, without which it takes a switch to it for an allocation of megabytes
/// on the old one and calls every access wrong. Costs some instructions outside of valgrind.
class KnownStack {
 public:
  KnownStack([[maybe_unused]] std::byte* start, [[maybe_unused]] std::size_t bytes) {
#ifdef VALGRIND_STACK_REGISTER
    id_ = VALGRIND_STACK_REGISTER(start, start + bytes - 1);
#endif
  }
  ~KnownStack() {
#ifdef VALGRIND_STACK_DEREGISTER
    VALGRIND_STACK_DEREGISTER(id_);
#endif
  }
  KnownStack(const KnownStack&) = delete;
  KnownStack& operator=(const KnownStack&) = delete;

 private:
  [[maybe_unused]] unsigned id_ = 0;
};

#ifdef HIPTOOL_ADDRESS_SANITIZER
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif
#ifdef HIPTOOL_THREAD_SANITIZER
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

/// An order between fibers: work of one before release() precedes work of others after acquire().
class FiberOrder {
 public:
  void release() {
#ifdef HIPTOOL_THREAD_SANITIZER
    __tsan_release(this);
#endif
  }
  void acquire() {
#ifdef HIPTOOL_THREAD_SANITIZER
    __tsan_acquire(this);
#endif
  }

 private:
  [[maybe_unused]] char address_ = 0;
};

#if defined(HIPTOOL_ADDRESS_SANITIZER)
class FiberWatch {
 public:
  static constexpr std::size_t bytes_of_first_frames = 4096;

  void starts(const std::byte* stack, std::size_t bytes) {
    stack_ = stack;
    bytes_ = bytes;
    frames_ = nullptr;
  }
  /// Frames that were never left are still marked in the stack: the first ones of a parked fiber,
  /// all of another.
  void ends(bool is_parked) {
    const std::size_t marked = is_parked ? std::min(bytes_, bytes_of_first_frames) : bytes_;
    __asan_unpoison_memory_region(static_cast<const std::byte*>(stack_) + (bytes_ - marked),
                                  marked);
  }
  void before_switch(FiberWatch& next) {
    next.previous_ = this;
    __sanitizer_start_switch_fiber(&frames_, next.stack_, next.bytes_);
  }
  /// Tells the stack that was left, too: the worker's is known to the sanitizer alone.
  void after_switch() {
    __sanitizer_finish_switch_fiber(frames_, &previous_->stack_, &previous_->bytes_);
  }

 private:
  const void* stack_ = nullptr;
  std::size_t bytes_ = 0;
  void* frames_ = nullptr;
  FiberWatch* previous_ = nullptr;
};
#elif defined(HIPTOOL_THREAD_SANITIZER)
class FiberWatch {
 public:
  void starts(const std::byte*, std::size_t) { own_ = __tsan_create_fiber(0); }
  void ends(bool) { __tsan_destroy_fiber(own_); }
  void before_switch(FiberWatch& next) {
    own_ = __tsan_get_current_fiber();  // a worker was not made by starts()
    __tsan_switch_to_fiber(next.own_, __tsan_switch_to_fiber_no_sync);
  }
  void after_switch() {}

 private:
  void* own_ = nullptr;
};
#else
class FiberWatch {
 public:
  void starts(const std::byte*, std::size_t) {}
  void ends(bool) {}
  void before_switch(FiberWatch&) {}
  void after_switch() {}
};
#endif

}  // namespace hiptool::hip::cpu
