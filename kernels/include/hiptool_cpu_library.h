// SPDX-License-Identifier: MIT
/// Precedes a kernel source that is compiled for the processor at run time: defines what
/// hiptool_cpu_kernel.h only declares by calls into the program that loads the library.
#pragma once
#include <stdlib.h>

#include "hiptool_cpu_host.h"

namespace hiptool_cpu {

__thread Index threadIdx;
__thread Index blockIdx;
__thread Index blockDim;
__thread Index gridDim;
__thread int warpSize;

namespace {

Host host;

/// After each wait another thread of the block may have run on this system thread.
void take_place() {
  Place place;
  host.read_place(&place);
  threadIdx = place.thread;
  blockIdx = place.block;
  blockDim = place.block_size;
  gridDim = place.grid_size;
  warpSize = place.warp_size;
}

template <auto Kernel>
void run_thread_here(void* const* arguments) {
  take_place();
  Thunk<Kernel>::run_thread(arguments);
}

template <auto Kernel>
void open_library(const Host* from, LoadedKernel* kernel) {
  using Own = Thunk<Kernel>;
  host = *from;
  *kernel = {Own::table.data(), Own::count, &run_thread_here<Kernel>};
}

}  // namespace

void wait_at_barrier(int line) {
  host.wait_at_barrier(line);
  take_place();
}

std::uint64_t exchange(std::uint64_t value, unsigned source_lane, int line) {
  const std::uint64_t taken = host.exchange(value, source_lane, line);
  take_place();
  return taken;
}

unsigned lane() { return host.lane(); }

void* dynamic_shared() { return host.dynamic_shared(); }

void join_lanes(void* own, JoinLanes join, int line) {
  host.join_lanes(own, join, line);
  take_place();
}

void work_alone() {}  // the others begin, and end at once

/// What the linker's --wrap puts in place of exit, _exit, _Exit and quick_exit: they would end the
/// program that loads the library, with whatever code the kernel gives.
[[noreturn]] inline void end_program(int code) {
  if (host.end != nullptr) host.end(code);  // null while the library's initialisers run
  abort();
}
[[noreturn]] void wrapped_exit(int code) __asm__("__wrap_exit");
[[noreturn]] void wrapped_exit_now(int code) __asm__("__wrap__exit");
[[noreturn]] void wrapped_exit_c99(int code) __asm__("__wrap__Exit");
[[noreturn]] void wrapped_quick_exit(int code) __asm__("__wrap_quick_exit");
void wrapped_exit(int code) { end_program(code); }
void wrapped_exit_now(int code) { end_program(code); }
void wrapped_exit_c99(int code) { end_program(code); }
void wrapped_quick_exit(int code) { end_program(code); }

}  // namespace hiptool_cpu

// A source may export its kernels as hiptool's own do. Only the requested one is needed here: the
// linker drops the others, with their shared memory.
#undef HIPTOOL_EXPORT
#define HIPTOOL_EXPORT(kernel) static_assert(true, "")
