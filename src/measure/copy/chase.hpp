// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/event.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/stream.hpp"
#include "measure/copy/copy_run.hpp"
#include "measure/copy/peer_access.hpp"
#include "measure/copy/spec.hpp"
#include "measure/copy/track.hpp"

namespace hiptool::measure {

/// The latency of memory as a device's kernel sees it: one thread follows a chain of addresses
/// through all lines of 128 bytes of the memory, one after the other, and the time of a launch is
/// divided by the number of its steps. Every multiprocessor has its turn, as they are not equally
/// far from the memory; all begin at the same line. As nvbandwidth's latency cases measure it
/// (v0.8, latencyPtrChaseKernel), with a million steps in all and without a warm-up of its own.
class ChaseRun {
 public:
  /// Steps over all multiprocessors.
  static constexpr std::uint64_t all_steps = 1'000'000;
  static constexpr std::uint64_t node_bytes = sizeof(std::uint64_t);
  static constexpr std::uint64_t stride_nodes = 16;
  /// A sample is the mean of every ninth multiprocessor, so that nine samples have had each.
  static constexpr std::uint32_t most_parts = 9;

  /// Writes the chain. Blocks. Throws Error(unsupported) without the kernel or access to a peer.
  explicit ChaseRun(const CopySpec& spec);
  /// Waits for its stream.
  ~ChaseRun();
  ChaseRun(const ChaseRun&) = delete;
  ChaseRun& operator=(const ChaseRun&) = delete;

  /// Runs the kernel on the multiprocessors of the next part; the span is the time of a step.
  CopySample run();
  /// Whether each launch of the last run() ended where the chain leads to.
  WrongWords check() const noexcept { return wrong_; }

 private:
  void write_chain();
  std::uint64_t address_after(std::uint64_t steps) const noexcept;
  double time_block(std::uint32_t block);

  CopyRoute route_;
  std::optional<PeerAccess> peer_;
  std::uint64_t nodes_;
  std::uint32_t blocks_;
  std::uint64_t steps_;
  std::optional<HostBlock> host_;  // the chain, or device memory
  Buffer chain_;
  Buffer place_;
  Event start_;
  Event stop_;
  Stream stream_;
  std::optional<Kernel> kernel_;
  std::uint64_t first_ = 0;  // address of the chain as the kernel sees it
  std::uint32_t part_ = 0;
  WrongWords wrong_;
};

}  // namespace hiptool::measure
