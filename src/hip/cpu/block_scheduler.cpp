// SPDX-License-Identifier: MIT
#include "hip/cpu/block_runner.hpp"

#include <hiptool_cpu_kernel.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "hip/cpu/fiber.hpp"

namespace hiptool_cpu {

__thread Index threadIdx;
__thread Index blockIdx;
__thread Index blockDim;
__thread Index gridDim;
__thread int warpSize;

}  // namespace hiptool_cpu

namespace hiptool::hip::cpu {

/// A thread that never waits is a plain call, others get fibers. One that waits switches to the
/// next one by itself, which takes a fourth of the time of a way through the worker.
class BlockScheduler {
 public:
  BlockScheduler() = default;
  BlockScheduler(const BlockScheduler&) = delete;
  BlockScheduler& operator=(const BlockScheduler&) = delete;

  void run(const Launch& launch, std::uint64_t block);

  // What a kernel calls, on its fiber.
  void wait_at_barrier(int line);
  std::uint64_t exchange(std::uint64_t value, unsigned source_lane, int line);
  void join_lanes(void* values, hiptool_cpu::JoinLanes join, int line);
  void work_alone();
  unsigned lane() const { return current_ & (launch_->warp_size - 1); }
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
    std::uint64_t value = 0;                ///< the address that a join gets
    hiptool_cpu::JoinLanes join = nullptr;  ///< null at an exchange of values
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
  template <class TakesPart>
  void give_values(unsigned first, unsigned last, TakesPart takes_part);
  template <class TakesPart>
  void join_32(unsigned first, unsigned last, hiptool_cpu::JoinLanes join, TakesPart takes_part);
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
  unsigned exchanging_ = 0;   ///< threads that wait at an exchange
  unsigned fibers_used_ = 0;  ///< in this block
  unsigned current_ = 0;
  unsigned resumed_ = 0;  ///< the next thread to look at, of those that may be ready
  unsigned resumed_end_ = 0;
  Fiber* started_fiber_ = nullptr;  ///< the last one
  std::exception_ptr failure_;
  FiberOrder block_start_;
  FiberOrder barrier_;
  FiberOrder join_;
  FiberOrder block_end_;
};

namespace {

constexpr std::align_val_t shared_alignment{128};

/// The one whose block runs on this system thread.
__thread BlockScheduler* current_scheduler = nullptr;

hiptool_cpu::Index to_index(const Dimensions& dimensions) {
  return {dimensions.x, dimensions.y, dimensions.z};
}

/// The place of a number that counts x first.
hiptool_cpu::Index place_in(const Dimensions& space, std::uint64_t number) {
  const std::uint64_t row = number / space.x;
  return {static_cast<unsigned>(number % space.x), static_cast<unsigned>(row % space.y),
          static_cast<unsigned>(row / space.y)};
}

}  // namespace

bool has_one_shared_memory() noexcept { return has_address_sanitizer || has_thread_sanitizer; }

std::size_t thread_stack_bytes() noexcept { return fiber_stack_bytes(); }

bool is_stack_overflow(const void* address) noexcept {
  return current_scheduler != nullptr && current_scheduler->is_stack_overflow(address);
}

BlockRunner::BlockRunner() : scheduler_(std::make_unique<BlockScheduler>()) {}

BlockRunner::~BlockRunner() = default;

void BlockRunner::run(const Launch& launch, std::uint64_t block) { scheduler_->run(launch, block); }

void BlockScheduler::FreeShared::operator()(void* memory) const {
  ::operator delete(memory, shared_alignment);
}

void BlockScheduler::run(const Launch& launch, std::uint64_t block) {
  prepare(launch, block);
  current_scheduler = this;
  try {
    run_all();
  } catch (...) {
    end_fibers();
    throw;
  }
  end_fibers();
}

void BlockScheduler::prepare(const Launch& launch, std::uint64_t block) {
  launch_ = &launch;
  count_ = static_cast<unsigned>(volume(launch.block));
  threads_.resize(count_);
  started_ = 0;
  done_ = 0;
  exchanging_ = 0;
  fibers_used_ = 0;
  resumed_ = 0;
  resumed_end_ = 0;
  failure_ = nullptr;
  // Of the exact size, so that the address sanitizer sees an overrun.
  if (launch.shared_bytes != shared_bytes_) {
    shared_.reset();
    shared_.reset(launch.shared_bytes == 0 ? nullptr
                                           : ::operator new(launch.shared_bytes, shared_alignment));
    shared_bytes_ = launch.shared_bytes;
  }
  hiptool_cpu::blockIdx = place_in(launch.grid, block);
  hiptool_cpu::blockDim = to_index(launch.block);
  hiptool_cpu::gridDim = to_index(launch.grid);
  hiptool_cpu::warpSize = static_cast<int>(launch.warp_size);
}

/// Whenever no fiber is left to run, each thread that is not done waits for something.
void BlockScheduler::run_all() {
  block_start_.release();
  run_fibers();
  while (done_ < count_) {
    if (exchanging_ == 0 || !release_exchanges()) release_barrier();
  }
}

/// Until there is no next fiber.
void BlockScheduler::run_fibers() {
  while (Fiber* const next = next_fiber()) worker_.switch_to(*next);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

/// A fiber for the next thread to start, or of the next ready one; null: the worker's turn.
Fiber* BlockScheduler::next_fiber() noexcept {
  if (failure_) return nullptr;
  if (started_ < count_) return new_fiber();
  while (resumed_ < resumed_end_) {
    const unsigned index = resumed_++;
    Thread& thread = threads_[index];
    if (thread.state != State::ready) continue;
    thread.state = State::running;
    make_current(index);
    return thread.fiber;
  }
  return nullptr;
}

/// For the thread sanitizer the work of a fiber precedes the work of fibers that it makes, which
/// would hide races: there the worker makes all.
Fiber& BlockScheduler::fiber_after_this() noexcept {
  Fiber* const next = has_thread_sanitizer ? nullptr : next_fiber();
  return next != nullptr ? *next : worker_;
}

Fiber* BlockScheduler::new_fiber() noexcept {
  try {
    started_fiber_ = &fibers_.at(fibers_used_);
  } catch (...) {
    failure_ = std::current_exception();  // on a fiber, it would pass through the kernel
    return nullptr;
  }
  if (!started_fiber_->is_parked()) started_fiber_->start(&BlockScheduler::fiber_body, this);
  ++fibers_used_;
  return started_fiber_;
}

/// Goes from thread to thread as long as none waits, and on in later blocks: to make the stack's
/// first frames once more would take longer than most kernels. The thread sanitizer needs one fiber
/// a thread.
void BlockScheduler::fiber_body(void* self) {
  BlockScheduler& scheduler = *static_cast<BlockScheduler*>(self);
  Fiber& own = *scheduler.started_fiber_;
  for (;;) {
    do {
      scheduler.run_next_thread(own);
    } while (!has_thread_sanitizer && !scheduler.failure_ && scheduler.started_ < scheduler.count_);
    own.park(scheduler.fiber_after_this());
  }
}

void BlockScheduler::run_next_thread(Fiber& own) {
  const unsigned index = started_++;
  threads_[index].fiber = &own;
  threads_[index].state = State::running;
  make_current(index);
  block_start_.acquire();
  try {
    launch_->kernel->run_thread(launch_->arguments);
  } catch (...) {
    failure_ = std::current_exception();
  }
  block_end_.release();
  threads_[index].state = State::done;
  ++done_;
}

void BlockScheduler::make_current(unsigned index) {
  // Most blocks go along x only, and a division for each thread costs more than all the rest.
  hiptool_cpu::Index& place = hiptool_cpu::threadIdx;
  current_ = index;
  if (index < launch_->block.x) {
    place = {index, 0, 0};
  } else {
    place = place_in(launch_->block, index);
  }
}

void BlockScheduler::stop_here(Thread& thread, State state, int line) {
  thread.state = state;
  thread.line = line;
  block_end_.release();  // it may never go on
  thread.fiber->switch_to(fiber_after_this());
}

void BlockScheduler::wait_at_barrier(int line) {
  barrier_.release();
  stop_here(threads_[current_], State::at_barrier, line);
  barrier_.acquire();
}

std::uint64_t BlockScheduler::exchange(std::uint64_t value, unsigned source_lane, int line) {
  Thread& own = threads_[current_];
  own.value = value;
  own.source_lane = source_lane;
  own.join = nullptr;
  ++exchanging_;
  stop_here(own, State::at_exchange, line);
  return own.value;
}

void BlockScheduler::join_lanes(void* values, hiptool_cpu::JoinLanes join, int line) {
  Thread& own = threads_[current_];
  own.value = reinterpret_cast<std::uintptr_t>(values);
  own.join = join;
  ++exchanging_;
  stop_here(own, State::at_exchange, line);
  join_.acquire();
}

void BlockScheduler::work_alone() {
  done_ += count_ - started_;
  for (; started_ < count_; ++started_) threads_[started_].state = State::done;
}

void BlockScheduler::resume_ready(unsigned first, unsigned last) {
  resumed_ = first;
  resumed_end_ = last;
  run_fibers();
}

bool BlockScheduler::release_exchanges() {
  bool released = false;
  for (unsigned first = 0; first < count_; first += launch_->warp_size) {
    released = release_exchange(first, std::min(count_, first + launch_->warp_size)) || released;
  }
  return released;
}

/// Of the lanes that wait at the earliest line: lanes in a loop go before those that have left it,
/// as on a device.
bool BlockScheduler::release_exchange(unsigned first, unsigned last) {
  const Thread* earliest = nullptr;
  for (unsigned index = first; index < last; ++index) {
    const Thread& thread = threads_[index];
    if (thread.state != State::at_exchange) continue;
    if (earliest == nullptr || thread.line < earliest->line) earliest = &thread;
  }
  if (earliest == nullptr) return false;
  const auto takes_part = [&, line = earliest->line, join = earliest->join](unsigned index) {
    if (index >= last) return false;
    const Thread& thread = threads_[index];
    return thread.state == State::at_exchange && thread.line == line && thread.join == join;
  };
  if (earliest->join == nullptr) {
    give_values(first, last, takes_part);
  } else {
    for (unsigned start = first; start < last; start += 32) {
      join_32(start, last, earliest->join, takes_part);
    }
  }
  for (unsigned index = first; index < last; ++index) {
    if (!takes_part(index)) continue;
    threads_[index].state = State::ready;
    --exchanging_;
  }
  resume_ready(first, last);
  return true;
}

template <class TakesPart>
void BlockScheduler::give_values(unsigned first, unsigned last, TakesPart takes_part) {
  constexpr unsigned most_lanes = 64;
  std::uint64_t received[most_lanes] = {};
  for (unsigned index = first; index < last; ++index) {
    if (!takes_part(index)) continue;
    const unsigned source = first + threads_[index].source_lane;
    received[index - first] = threads_[takes_part(source) ? source : index].value;
  }
  for (unsigned index = first; index < last; ++index) {
    if (takes_part(index)) threads_[index].value = received[index - first];
  }
}

template <class TakesPart>
void BlockScheduler::join_32(unsigned first, unsigned last, hiptool_cpu::JoinLanes join,
                             TakesPart takes_part) {
  void* of_lanes[32] = {};
  for (unsigned index = first; index < std::min(last, first + 32); ++index) {
    if (takes_part(index)) {
      of_lanes[index - first] = reinterpret_cast<void*>(threads_[index].value);
    }
  }
  block_end_.acquire();
  join(of_lanes);
  join_.release();
}

void BlockScheduler::release_barrier() {
  const auto waiting = std::ranges::find(threads_, State::at_barrier, &Thread::state);
  const int line = waiting->line;
  const bool is_whole = std::ranges::all_of(threads_, [&](const Thread& thread) {
    return thread.state == State::at_barrier && thread.line == line;
  });
  if (!is_whole) throw KernelFault(describe_barrier_fault(line));
  for (Thread& thread : threads_) thread.state = State::ready;
  resume_ready(0, count_);
}

std::string BlockScheduler::describe_barrier_fault(int line) const {
  unsigned here = 0;
  unsigned elsewhere = 0;
  for (const Thread& thread : threads_) {
    if (thread.state != State::at_barrier) continue;
    ++(thread.line == line ? here : elsewhere);
  }
  const hiptool_cpu::Index& block = hiptool_cpu::blockIdx;
  return "kernel " + std::string(launch_->kernel->name) + ", block (" + std::to_string(block.x) +
         ", " + std::to_string(block.y) + ", " + std::to_string(block.z) +
         "): the barrier at line " + std::to_string(line) + " was reached by " +
         std::to_string(here) + " of " + std::to_string(count_) + " threads, " +
         std::to_string(elsewhere) + " wait at another barrier, " + std::to_string(done_) +
         " have ended";
}

void BlockScheduler::end_fibers() {
  current_scheduler = nullptr;
  block_end_.acquire();
  // Threads that did not reach their end are left where they wait.
  for (unsigned place = 0; done_ < count_ && place < fibers_used_; ++place) {
    if (!fibers_.at(place).is_parked()) fibers_.at(place).end();
  }
  fibers_used_ = 0;
}

}  // namespace hiptool::hip::cpu

namespace hiptool_cpu {

using hiptool::hip::cpu::current_scheduler;

void wait_at_barrier(int line) { current_scheduler->wait_at_barrier(line); }

std::uint64_t exchange(std::uint64_t value, unsigned source_lane, int line) {
  return current_scheduler->exchange(value, source_lane, line);
}

void join_lanes(void* own, JoinLanes join, int line) {
  current_scheduler->join_lanes(own, join, line);
}

void work_alone() { current_scheduler->work_alone(); }

unsigned lane() { return current_scheduler->lane(); }

void* dynamic_shared() { return current_scheduler->dynamic_shared(); }

void register_kernel(const char* name, const Argument* arguments, std::size_t count,
                     void (*run_thread)(void* const* arguments)) {
  const auto argument_at = [](const void* table, std::size_t place) {
    const Argument& argument = static_cast<const Argument*>(table)[place];
    return hiptool::hip::cpu::KernelArgument{argument.offset_bytes, argument.size_bytes,
                                             argument.is_pointer};
  };
  hiptool::hip::cpu::note_kernel({name, count, argument_at, arguments, run_thread});
}

}  // namespace hiptool_cpu
