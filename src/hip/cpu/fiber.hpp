// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "hip/cpu/fiber_context.hpp"
#include "hip/cpu/fiber_watch.hpp"

namespace hiptool::hip::cpu {

/// A function that can be suspended and resumed, always on the same system thread.
class Fiber {
 public:
  Fiber() = default;  ///< for the worker's own stack
  Fiber(std::byte* stack, std::size_t bytes) : stack_(stack), bytes_(bytes) {}

  /// The next switch to it calls body(argument), whatever the fiber did before. The body must not
  /// return: where it has nothing left to do, it calls park().
  void start(FiberContext::Entry body, void* argument);
  /// Whether the next switch to it lets the body go on after park().
  bool is_parked() const { return is_parked_; }
  /// To abandon it where it is, parked or not: only start() may follow.
  void end() { watch_.ends(std::exchange(is_parked_, false)); }

  /// From this one, which runs and is resumed by the next switch to it.
  void switch_to(Fiber& other);
  void park(Fiber& other);

 private:
  static void begin(void* self);

  std::byte* const stack_ = nullptr;
  const std::size_t bytes_ = 0;
  FiberContext context_;
  FiberWatch watch_;
  FiberContext::Entry body_ = nullptr;
  void* argument_ = nullptr;
  bool is_parked_ = false;
};

/// The fibers of one worker, made at their first use.
class Fibers {
 public:
  Fibers() = default;
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  Fiber& at(std::size_t place) {
    while (place >= fibers_.size()) grow();
    return fibers_[place];
  }

  /// Whether the address is in the guard below a stack. Async-signal-safe.
  bool is_in_guard(const void* address) const noexcept;

 private:
  struct Mapping {
    std::byte* start;
    bool guards_each;  ///< else only the lowest stack
  };

  void grow();

  std::deque<Fiber> fibers_;
  std::deque<KnownStack> known_stacks_;
  std::vector<Mapping> mappings_;
};

/// Stack of each fiber.
std::size_t fiber_stack_bytes() noexcept;

}  // namespace hiptool::hip::cpu
