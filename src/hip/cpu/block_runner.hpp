// SPDX-License-Identifier: MIT
/// Runs a kernel block by block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "hip/cpu/kernel_table.hpp"

namespace hiptool::hip::cpu {

struct Launch {
  const CpuKernel* kernel = nullptr;
  Dimensions grid;
  Dimensions block;
  std::size_t shared_bytes = 0;
  unsigned warp_size = 32;
  void* const* arguments = nullptr;
};

constexpr std::uint64_t volume(const Dimensions& dimensions) {
  return std::uint64_t{dimensions.x} * dimensions.y * dimensions.z;
}

/// A kernel broke a rule of the device language.
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether __shared__ is one variable for the process (sanitizers), so that no two blocks may run
/// at once.
bool has_one_shared_memory() noexcept;

/// Stack of each thread of a block, in HIP's sense.
std::size_t thread_stack_bytes() noexcept;

/// Whether that address was touched by a kernel which ran out of its stack, on the calling system
/// thread. For a handler of SIGSEGV: async-signal-safe.
bool is_stack_overflow(const void* address) noexcept;

class BlockScheduler;

/// One for each system thread that runs blocks.
class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Throws KernelFault, or the kernel's exception; the runner can be used again.
  void run(const Launch& launch, std::uint64_t block);

 private:
  const std::unique_ptr<BlockScheduler> scheduler_;
};

}  // namespace hiptool::hip::cpu
