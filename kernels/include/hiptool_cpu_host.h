// SPDX-License-Identifier: MIT
/// What a kernel source that is compiled for the processor at run time and the program that loads
/// it pass to each other. The loaded library has its own copies of hiptool_cpu's functions and
/// variables, so that the program need not export any symbol.
#pragma once
#include "hiptool_cpu_kernel.h"

namespace hiptool_cpu {

/// The position of a thread, as kernels see it.
struct Place {
  Index thread;
  Index block;
  Index block_size;
  Index grid_size;
  int warp_size;
};

/// The program's part.
struct Host {
  void (*read_place)(Place* place);
  void (*wait_at_barrier)(int line);
  std::uint64_t (*exchange)(std::uint64_t value, unsigned source_lane, int line);
  unsigned (*lane)();
  void* (*dynamic_shared)();
  void (*join_lanes)(void* own, JoinLanes join, int line);
  void (*end)(int code);  ///< instead of exit; does not return
};

/// The library's part: the one kernel that it was compiled for.
struct LoadedKernel {
  const Argument* arguments;
  std::size_t argument_count;
  void (*run_thread)(void* const* arguments);
};

/// Of the library's function that is called once after loading.
using OpenLibrary = void (*)(const Host* host, LoadedKernel* kernel);
inline constexpr char open_library_name[] = "hiptool_open_kernel_library";

}  // namespace hiptool_cpu
