// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/stream.hpp"
#include "kernels/digest.hpp"
#include "load/chunks.hpp"
#include "load/leaves.hpp"

namespace hiptool::load {

/// The list of leaf digests that the device computes of its own memory, on a stream of low
/// priority.
class DeviceDigests {
 public:
  DeviceDigests(const ModelFile& model, const ArenaLayout& layout, const LeafMap& leaves,
                const Buffer& arena, const std::string& compiler_program);
  /// Waits for the kernels; failures go to the trace.
  ~DeviceDigests();
  DeviceDigests(const DeviceDigests&) = delete;
  DeviceDigests& operator=(const DeviceDigests&) = delete;

  /// Queues the digests of all leaves of a chunk, behind the event if there is one. From any
  /// thread.
  void add(const Chunk& chunk, const Event* copied);

  /// Waits and brings the list to the host.
  std::vector<std::uint64_t> fetch();

  const std::string& image() const noexcept { return digester_.image(); }

 private:
  const ModelFile& model_;
  const ArenaLayout& layout_;
  const LeafMap& leaves_;
  const Buffer& arena_;
  Stream stream_;
  Buffer list_;
  std::mutex mutex_;
  kernels::LeafDigester digester_;
};

}  // namespace hiptool::load
