// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "hiptool/buffer.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"
#include "measure/copy/device_tools.hpp"
#include "measure/copy/spec.hpp"

namespace hiptool::measure {

/// Host memory of one kind, with the pages of a NUMA node if the thread is bound to one.
class HostBlock {
 public:
  /// Blocks while pages are pinned. The size is a multiple of 4. Throws Error(host_out_of_memory),
  /// Error(device), and Error(unsupported) if the runtime has no managed memory.
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
  std::optional<RegisteredMemory> registered_;  // destroyed before the memory it registers
};

/// One copy of a measurement with its memory, stream and pattern, or both ways of a split one. The
/// source is written once and is larger than the copy: each sample copies from another offset and
/// so has another pattern.
class CopyTrack {
 public:
  /// Allocates and writes the source. Blocks. The seed must differ from every other track's,
  /// so that remaining data of an earlier track is detected as wrong.
  CopyTrack(const CopySpec& spec, const CopyRoute& route, std::uint32_t seed, ToolBox& tools);
  /// Waits for its stream.
  ~CopyTrack();
  CopyTrack(const CopyTrack&) = delete;
  CopyTrack& operator=(const CopyTrack&) = delete;

  const CopyRoute& route() const noexcept { return route_; }
  const Stream& stream() const noexcept { return stream_; }

  /// Queues the start of a measurement.
  void queue_start() { start_.record(stream_); }
  /// Queues the copy of that sample `copies` times, and the end.
  void queue(std::uint64_t sample, std::size_t copies);
  /// The same by one kernel, where a kernel copies.
  void queue_passes(std::uint64_t sample, std::size_t copies);
  /// Queues copies that are not timed. Their data is not that sample's, so that they cannot stand
  /// in for its own copies.
  void queue_untimed(std::uint64_t sample, std::size_t copies);
  /// Queues the copy of that sample alone.
  void queue_copy(std::uint64_t sample);
  double duration_s() const { return stop_.elapsed_s(start_); }
  /// The time from an event of the same device to the end.
  double end_s(const Event& from) const { return stop_.elapsed_s(from); }

  /// Compares the destination with the pattern of that sample, on the device if it is device
  /// memory. The stream must be idle.
  WrongWords check(std::uint64_t sample);

 private:
  void queue_by_engine(std::uint64_t offset_bytes);
  void queue_by_kernel(std::uint64_t offset_bytes);
  void queue_kernel_passes(std::uint64_t offset_bytes, std::uint32_t passes);
  const std::byte* source_address() const;
  std::byte* destination_address() const;
  void allocate(const CopySpec& spec);
  void allocate_both(const CopySpec& spec);
  WrongWords check_both(std::uint32_t from_host, std::uint32_t from_device);

  CopyRoute route_;
  CopyEngine engine_;
  bool is_split_;
  std::uint64_t size_bytes_;  // of both ways if split
  std::uint32_t seed_;
  ToolBox& tools_;
  std::optional<HostBlock> host_;  // source or destination, or both if split
  Buffer source_;                  // and if split the destination
  Buffer destination_;
  std::byte* host_address_ = nullptr;  // as a kernel sees it
  Event start_;
  Event stop_;
  Stream stream_;
};

}  // namespace hiptool::measure
