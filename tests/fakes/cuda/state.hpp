// SPDX-License-Identifier: MIT
/// State of the fake libcuda.so.1 that its test reads through one more exported function.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>

namespace hiptool::test {

struct FakeCudaState {
  std::array<std::atomic<int>, 8>
      retained{};                        ///< how often each device's primary context was retained
  std::atomic<unsigned> host_flags = 0;  ///< of the last cuMemHostAlloc
  std::atomic<unsigned> register_flags = 0;   ///< of the last cuMemHostRegister
  std::atomic<unsigned> event_flags = 0;      ///< of the last cuEventCreate
  std::array<std::atomic<void*>, 5> extra{};  ///< of the last launch
  std::array<std::atomic<int>, 2>
      launch_ordinals{};                ///< current context's and stream's device at the launch
  std::atomic<int> early_launches = 0;  ///< that may start before the kernel in front has ended
};

/// Type of the exported function "fake_cuda_state", and of "fake_cuda_allocations": how much device
/// and host memory is not freed.
using FakeCudaStateFunction = FakeCudaState* (*)();
using FakeCudaAllocationsFunction = std::size_t (*)();

}  // namespace hiptool::test
