// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/stream.hpp"
#include "kernels/digest.hpp"
#include "load/chunks.hpp"
#include "load/leaves.hpp"
#include "load/stream_trace.hpp"

namespace hiptool::load {

/// The list of leaf digests that the device computes of its own memory, on a stream of low
/// priority (on the processor, where a stream is one thread, on several). The kernel is loaded on a
/// thread of its own, so that a driver that compiles it first (6 to 80 ms for PTX) holds nothing
/// up; chunks that arrive before are digested then.
class DeviceDigests {
 public:
  /// Blocks only where the device has no image of the kernel, while that is compiled. Throws
  /// Error(unsupported) where there is neither.
  DeviceDigests(const ModelFile& model, const ArenaLayout& layout, const LeafMap& leaves,
                const Buffer& arena, const std::string& compiler_program,
                Timeline* timeline = nullptr);
  /// Waits for the kernels; failures go to the trace.
  ~DeviceDigests();
  DeviceDigests(const DeviceDigests&) = delete;
  DeviceDigests& operator=(const DeviceDigests&) = delete;

  /// Queues the digests of all leaves of a chunk, behind the event if there is one. From any
  /// thread. The event may be recorded anew or go afterwards.
  void add(const Chunk& chunk, const Event* copied);

  /// Waits and brings the list, in the order of the LeafMap, to the host, where it stays until the
  /// next call; leaves that the layout does not have are zero. Throws what the kernel could not be
  /// loaded with.
  std::span<const std::uint64_t> fetch();

  /// Waits until the kernel is loaded; throws what that failed with.
  const std::string& image() const;

 private:
  /// Leaves of the table, which is in the order of the arena.
  struct Leaves {
    std::size_t stream = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  void prepare();
  std::uint64_t leaves_before(std::uint64_t device_offset) const;
  void launch_waiting();
  std::span<const std::uint64_t> in_order();

  const ModelFile& model_;
  const ArenaLayout& layout_;
  const LeafMap& leaves_;
  Buffer arena_;
  std::string compiler_program_;
  std::vector<std::uint64_t> first_leaf_;  // by placement, then their number
  Buffer list_;
  std::mutex mutex_;
  std::vector<Stream> streams_;
  std::size_t next_stream_ = 0;
  std::vector<Leaves> waiting_;  // until the kernel is there and there are enough of them
  std::size_t least_waiting_;
  std::vector<std::uint64_t> listed_;   // as list_
  std::vector<std::uint64_t> ordered_;  // as the LeafMap; empty where that is the same
  std::optional<kernels::DigestTable> table_;
  std::optional<kernels::LeafDigester> digester_;
  std::optional<StreamTrace> trace_;
  std::shared_future<void> prepared_;  // last: its thread uses the others
};

}  // namespace hiptool::load
