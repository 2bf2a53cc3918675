// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
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

/// The digests of all blocks of 16 KiB in an arena, which its device computes in one pass: one
/// launch on a GPU, and on the processor, where a stream is one thread, many on several streams.
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

  /// Digests the arena as it is now and returns the list, which the next call overwrites: the
  /// blocks of the layout's first tensor, then of its second. Copies into the arena must be
  /// done. Blocks. Throws what the kernel could not be loaded with, and Error(cancelled) by the
  /// token.
  std::span<const std::uint64_t> compute();

  /// Of the kernel in the last compute(), by events of the device; 0 on the processor.
  double kernel_time_s() const noexcept { return kernel_time_s_; }

  /// Waits until the kernel is loaded; throws what that failed with.
  const std::string& image() const;

 private:
  void prepare();
  void digest_piece(std::size_t stream, std::uint64_t first_block);

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
  std::optional<Event> start_;  // around the launch of a GPU
  std::optional<Event> stop_;
  double kernel_time_s_ = 0;
  std::optional<StreamTrace> trace_;
  std::shared_future<void> prepared_;  // last: its thread uses the others
};

}  // namespace hiptool::load
