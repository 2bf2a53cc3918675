// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "hiptool/pinned_buffer.hpp"
#include "measure/copy/spec.hpp"

namespace hiptool::measure {

/// Host memory of one kind, with the pages of a NUMA node if the thread is bound to one.
class HostBlock {
 public:
  /// Blocks while pages are pinned. The size is a multiple of 4. Throws Error(host_out_of_memory),
  /// Error(device), and Error(unsupported) where the runtime has no managed memory.
  HostBlock(const Device& device, HostKind kind, std::size_t size_bytes);
  ~HostBlock();
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  std::span<std::uint32_t> words() const noexcept;
  /// The address that kernels of the device use.
  std::byte* device_address() const;

 private:
  void allocate_managed(std::size_t size_bytes);

  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  Device device_;
  HostKind kind_;
  std::span<std::byte> bytes_;
  std::optional<PinnedBuffer> pinned_;
  std::unique_ptr<void, Free> pageable_;
  std::optional<RegisteredMemory> registered_;  // goes before the memory it registers
};

}  // namespace hiptool::measure
