// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/load.hpp"
#include "hiptool/stream.hpp"
#include "hiptool/timeline.hpp"
#include "load/transfer/staging_memory.hpp"
#include "load/transfer/staging_ring.hpp"

namespace hiptool::load {

/// How bytes get from files or host memory to devices.
struct TransferOptions {
  std::uint32_t streams = 2;  ///< of each device
  /// Measured on an H200 and 16 cores: 20 slots of 4 MiB, which stay in the processor's cache,
  /// load at 0.95 to 0.97 of the rate that their copies reach alone; of 8 MiB at 0.87 to 0.92.
  std::uint64_t slot_bytes = 4u << 20;
  std::uint32_t readers = 0;  ///< threads of all devices; 0: one for each core, at most 16 a device
  std::uint32_t slots = 0;    ///< of each device; 0: one for each reader and four in flight
  std::vector<StreamRef> external_streams;  ///< instead of own ones, each for its own device
  bool always_stage = false;  ///< also where the host can write device memory in place
  ReadOptions read;
  /// Chunks at the start and the end of a load are smaller, so that the first copy starts early
  /// and all readers end together.
  bool ramp = true;
  /// Parallel regions of the files: chunks are read alternately from each, so that many parts of a
  /// disk work at once. 0: four for files that are not cached, else one, and one for each of
  /// several devices, which share what is given here.
  std::uint32_t regions = 0;
  /// Logical CPUs that the readers run on. Empty: those of the device's NUMA node, where the
  /// system has several and reports which; else any.
  std::vector<int> reader_cpus;
  const CancelToken* cancel = nullptr;
  LoadObserver* observer = nullptr;
  Timeline* timeline = nullptr;
  std::shared_ptr<StagingMemory> memory;  ///< for slots, touched ahead; more is made as needed
};

/// Reader threads of one device, where the caller gives no number.
inline constexpr std::uint32_t most_readers = 16;

/// The streams and the staging ring of one device.
class DeviceRing {
 public:
  /// Makes streams; slots are pinned when they are first needed, or by prepare(). Throws
  /// Error(invalid_argument) for sizes that are zero or out of bounds and for foreign streams.
  DeviceRing(const Device& device, TransferOptions options);

  const Device& device() const noexcept { return device_; }
  /// With all defaults resolved.
  const TransferOptions& options() const noexcept { return options_; }
  const std::vector<StreamRef>& streams() const noexcept { return streams_; }
  StagingRing& ring() noexcept { return *ring_; }
  /// Whether files go through the ring, and not into device memory in place.
  bool stages() const noexcept { return options_.always_stage || !device_.is_host_memory(); }

  /// Pins the slots that are not pinned yet, several at once; about 25 ms for 128 MiB. Blocks. May
  /// run on a thread of its own during transfers, which use slots as they come.
  void prepare();
  void throw_if_cancelled() const;

 private:
  void check_options() const;

  Device device_;
  TransferOptions options_;
  std::vector<Stream> own_streams_;
  std::vector<StreamRef> streams_;
  std::unique_ptr<StagingRing> ring_;
};

}  // namespace hiptool::load
