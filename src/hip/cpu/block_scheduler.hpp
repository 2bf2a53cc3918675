// SPDX-License-Identifier: MIT
/// A thread that never waits is a plain call, others get fibers. One that waits switches to the
/// next one by itself, which takes a fourth of the time of a way through the worker. Included only
/// by files that are compiled like the fibers: their layout depends on the sanitizer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "hip/cpu/block_runner.hpp"
#include "hip/cpu/fiber.hpp"

namespace hiptool::hip::cpu {

class BlockScheduler {
 public:
  BlockScheduler() = default;
  BlockScheduler(const BlockScheduler&) = delete;
  BlockScheduler& operator=(const BlockScheduler&) = delete;

  void run(const Launch& launch, std::uint64_t block);

  // What a kernel calls, on its fiber.
  void wait_at_barrier(int line);
  std::uint64_t exchange(std::uint64_t value, unsigned source_lane, int line);
  unsigned lane() const { return current_ % launch_->warp_size; }
  void* dynamic_shared() const { return shared_.get(); }

  bool is_stack_overflow(const void* address) const noexcept {
    return fibers_.is_in_guard(address);
  }

 private:
  enum class State : std::uint8_t { running, at_barrier, at_exchange, ready, done };

  /// A thread of the block, in HIP's sense.
  struct Thread {
    Fiber* fiber = nullptr;
    State state = State::running;
    int line = 0;
    unsigned source_lane = 0;
    std::uint64_t value = 0;
  };

  struct FreeShared {
    void operator()(void* memory) const;
  };

  void prepare(const Launch& launch, std::uint64_t block);
  void run_all();
  void run_fibers();
  Fiber* next_fiber() noexcept;
  Fiber& fiber_after_this() noexcept;
  Fiber* new_fiber() noexcept;
  static void fiber_body(void* self);
  void run_next_thread(Fiber& own);
  void make_current(unsigned index);
  void stop_here(Thread& thread, State state, int line);
  void resume_ready(unsigned first, unsigned last);
  bool release_exchanges();
  bool release_exchange(unsigned first, unsigned last);
  void release_barrier();
  std::string describe_barrier_fault(int line) const;
  void end_fibers();

  Fiber worker_;
  Fibers fibers_;
  std::vector<Thread> threads_;
  std::unique_ptr<void, FreeShared> shared_;
  std::size_t shared_bytes_ = 0;
  const Launch* launch_ = nullptr;
  unsigned count_ = 0;  ///< threads of the block
  unsigned started_ = 0;
  unsigned done_ = 0;
  unsigned fibers_used_ = 0;  ///< in this block
  unsigned current_ = 0;
  unsigned resumed_ = 0;  ///< the next thread to look at, of those that may be ready
  unsigned resumed_end_ = 0;
  Fiber* started_fiber_ = nullptr;  ///< the last one
  std::exception_ptr failure_;
  FiberOrder block_start_;
  FiberOrder barrier_;
  FiberOrder block_end_;
};

}  // namespace hiptool::hip::cpu
