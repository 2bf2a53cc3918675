// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/event.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/stream.hpp"
#include "kernel_store/digest.hpp"
#include "load/layout/blocks.hpp"
#include "load/stream_trace.hpp"
#include "load/verify/readback.hpp"

namespace hiptool::load {

/// How many of an arena's blocks one launch digests at most.
std::uint64_t launch_blocks(bool is_host_memory, std::uint64_t blocks) noexcept;

/// The digests of all blocks of 16 KiB in an arena, which its device computes in one pass: on a GPU
/// in a few launches, so that the first digests are copied and compared while it computes others;
/// on the processor, where a stream is one thread, in many launches on several streams.
/// The kernel is loaded on a thread of its own, so that a driver that compiles it first (6 to 80 ms
/// for PTX) does not delay the load.
class DeviceDigests {
 public:
  /// Blocks only where the device has no image of the kernel, while that is compiled. Throws
  /// Error(unsupported) where there is neither. Of the options it uses the cancel token, the
  /// compiler program and the timeline.
  DeviceDigests(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                const VerifyOptions& options);
  /// Waits for the kernels; failures go to the trace.
  ~DeviceDigests();
  DeviceDigests(const DeviceDigests&) = delete;
  DeviceDigests& operator=(const DeviceDigests&) = delete;

  /// Takes the digests that are there so far, from the first on.
  using OnDigests = std::function<void(std::span<const std::uint64_t> digests)>;

  /// Digests the arena as it is now and returns the list, which the next call overwrites: the
  /// blocks of the layout's first tensor, then of its second. `on_digests` is called on this thread
  /// each time that more of them have arrived; what it throws ends the pass. Copies into the arena
  /// must be done. Blocks. Throws what the kernel could not be loaded with, and Error(cancelled) by
  /// the token.
  std::span<const std::uint64_t> compute(const OnDigests& on_digests = {});

  /// Of the kernels in the last compute(), by events of the device; 0 on the processor.
  double kernel_time_s() const noexcept { return kernel_time_s_; }

  /// Waits until the kernel is loaded; throws what that failed with.
  const std::string& image() const;

 private:
  void prepare();
  // A piece is what one launch digests.
  std::uint64_t count_pieces() const;
  std::uint64_t end_of_piece(std::uint64_t piece) const;
  void queue_piece(std::size_t stream, std::uint64_t piece);
  void compute_on_processor();
  void compute_on_gpu(const OnDigests& on_digests);
  void settle() const noexcept;

  const ModelFile& model_;
  const ArenaLayout& layout_;
  Buffer arena_;
  VerifyOptions options_;
  Buffer list_;                  // on the device
  std::uint64_t launch_blocks_;  // of one launch at most
  std::vector<Stream> streams_;
  std::vector<std::uint64_t> digests_;  // what compute() returns
  std::optional<kernel_store::DigestTable> table_;
  std::optional<kernel_store::BlockDigester> digester_;
  // Of a GPU alone.
  std::optional<Stream> copies_;
  std::vector<Event> done_;     // with each launch
  std::optional<Event> start_;  // around all launches
  std::optional<Event> stop_;
  double kernel_time_s_ = 0;
  std::optional<StreamTrace> trace_;
  std::shared_future<void> prepared_;  // last: its thread uses the others
};

}  // namespace hiptool::load
