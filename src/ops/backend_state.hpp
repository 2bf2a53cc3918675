// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "ops/faults.hpp"
#include "ops/libraries.hpp"

namespace hiptool::ops {

struct BackendState {
  BackendState(const Device& of, const StreamRef* borrowed, const Backend::Options& chosen);

  /// A kernel by its name; each source is loaded once, and each kernel looked up once.
  Kernel kernel(std::string_view source, const std::string& name);
  /// The same; absent where the build has no image of the source for the device, or its driver
  /// refuses it.
  std::optional<Kernel> kernel_if_taken(std::string_view source, const std::string& name);
  /// The kernel of that name in any source, looked up each time.
  Kernel find_kernel(std::string_view name) { return loader_.kernel(name); }
  /// kernel_store::iq_grids() on the device; the first call copies them and waits.
  const void* iq_grids();

  static BackendState& of(const Backend& backend) noexcept { return *backend.state_; }

  const Device device;
  const Backend::Options options;
  const MatrixUnits matrix_units;
  const bool has_large_blocks;          // see has_large_blocks_of
  const bool has_rings;                 // kernels of quantised_ring.hip
  const std::uint64_t multiprocessors;  // asked for once: Device::info() queries the driver
  std::optional<Stream> own_stream;
  const StreamRef stream;
  CachingAllocator allocator;
  FaultLog faults;
  std::atomic<std::uint64_t> seed{0};
  Libraries libraries;  // after the allocator that their workspace is from

 private:
  kernel_store::KernelLoader loader_;
  std::mutex mutex_;
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::optional<Buffer> iq_grids_;
};

/// What a Backend has for operations.
BackendState& state_of(const Backend& backend) noexcept;

}  // namespace hiptool::ops
