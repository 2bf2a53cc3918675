// SPDX-License-Identifier: MIT
/// The memory of kernels that exchange data, and their work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/event.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/stream.hpp"
#include "measure/collective/exchange.hpp"

// Shared with the kernels, which have these types without a namespace.
using std::uint32_t;
using std::uint64_t;
#include <hiptool_exchange.h>

namespace hiptool::measure {

/// The address that a device has for host memory; the host's own where the runtime knows no other.
std::uint64_t device_address_of(const Device& device, std::byte* host);

/// Host memory that all devices of a platform reach while kernels run. Owning and move-only.
class SharedHostMemory {
 public:
  /// Throws as PinnedBuffer does.
  SharedHostMemory(const Device& device, std::size_t size_bytes);

  std::byte* data() const noexcept { return data_.get(); }
  std::span<std::uint32_t> words() const noexcept;
  /// The address that a device uses.
  std::uint64_t address_on(const Device& device) const;

 private:
  struct Free {
    Device device;
    void operator()(std::byte* data) const noexcept;
  };
  std::size_t size_bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

/// Device memory that other devices write while a kernel reads it: not cached, or kept coherent,
/// where the runtime has such (hipExtMallocWithFlags); else usual memory. Throws as Buffer does.
Buffer make_exchange_buffer(const Device& device, std::size_t size_bytes);

/// Access of each device to each other one, taken back at the end where it was not there before.
class PeerAccesses {
 public:
  PeerAccesses() = default;
  ~PeerAccesses();
  PeerAccesses(const PeerAccesses&) = delete;
  PeerAccesses& operator=(const PeerAccesses&) = delete;

  /// Why that is not possible, "nvidia:0 has no access to the memory of nvidia:1"; else empty.
  static std::string refusal(const std::vector<Device>& devices);
  /// Throws the runtime's error.
  void enable(const std::vector<Device>& devices);

 private:
  std::vector<std::pair<Device, Device>> enabled_;
};

/// The memory of one device that takes part.
struct ExchangeRank {
  ExchangeRank(const Device& device, Kernel kernel);

  Device device;
  Kernel kernel;
  Stream stream;
  Event started;
  Event ended;
  Buffer input;
  Buffer output;
  Buffer inbox;  ///< empty where it is in host memory
  Buffer flags;
  Buffer table;
  Buffer reports;
  std::optional<SharedHostMemory> host_inbox;
  std::optional<SharedHostMemory> host_flags;
  hiptool_exchange::Work work{};
};

}  // namespace hiptool::measure
