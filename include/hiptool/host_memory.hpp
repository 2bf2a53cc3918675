// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "hiptool/export.hpp"

namespace hiptool {

/// Anonymous memory of the host in huge pages that are there already, so that a PinnedBuffer made
/// of it has only to be registered. It needs no device: it can be made while a driver starts.
class HIPTOOL_API HostMemory {
 public:
  /// Blocks while pages are touched (about 0.2 ms a MiB). Throws Error(host_out_of_memory). Size 0
  /// has a null address.
  explicit HostMemory(std::size_t size_bytes);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// The size in whole huge pages, all of which are there.
  std::size_t mapped_bytes() const noexcept;

 private:
  void free() noexcept;

  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace hiptool
