// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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
  /// Of each device. A copy engine that finds the next copy on another stream loses time: 0.89 of
  /// the link with two streams, 0.93 with one (H200, copies of 4 MiB).
  std::uint32_t streams = 1;
  std::uint64_t slot_bytes = 0;  ///< 0: see choose_staging()
  std::uint32_t readers = 0;     ///< threads of all devices; 0: see choose_staging()
  std::uint32_t slots = 0;       ///< of each reader, or shared; 0: see choose_staging()
  /// Parts in which readers fill a slot together, so that few slots suffice for large copies. 1:
  /// each reader has slots of its own. 0: see choose_staging() for one device; 1 for several, for
  /// memory that is read into in place, and where a size or number of slots is given.
  std::uint32_t parts = 0;
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
  /// Logical CPUs that the readers run on. Empty: the CPUs of the device's NUMA node, where the
  /// system has several and reports which; else any.
  std::vector<int> reader_cpus;
  const CancelToken* cancel = nullptr;
  LoadObserver* observer = nullptr;
  Timeline* timeline = nullptr;
  std::shared_ptr<StagingMemory> memory;  ///< touched ahead, a block for each device; may be null
};

/// The streams and the staging ring of one device.
class DeviceRing {
 public:
  /// Makes streams; slots are pinned when the first is needed, or by prepare(). `options` has no
  /// zeros left. Throws Error(invalid_argument) for sizes that are zero or out of bounds and for
  /// streams of other devices.
  DeviceRing(const Device& device, TransferOptions options);

  const Device& device() const noexcept { return device_; }
  const TransferOptions& options() const noexcept { return options_; }
  const std::vector<StreamRef>& streams() const noexcept { return streams_; }
  StagingRing& ring() noexcept { return *ring_; }
  const StagingRing& ring() const noexcept { return *ring_; }
  /// Whether files go through the ring, and not into device memory in place.
  bool stages() const noexcept { return options_.always_stage || !device_.is_host_memory(); }

  /// Fills a slot of that producer by the function, which gets the destination's size of it, and
  /// queues it; see StagingRing::acquire() and submit(). Where the function throws the slot is
  /// given back.
  void send(Buffer& destination, std::size_t producer,
            const std::function<void(std::span<std::byte>)>& write,
            const std::function<void(const Event& copied)>& on_queued = {});

  /// Pins the slots unless they are pinned, see StagingRing::prepare(). May run on a thread of its
  /// own during transfers, which wait for it.
  void prepare();
  void throw_if_cancelled() const;

 private:
  void check_options() const;
  // Who have slots of their own: each reader, unless all share the slots.
  std::size_t owners() const noexcept { return options_.parts > 1 ? 1 : options_.readers; }

  Device device_;
  TransferOptions options_;
  std::vector<Stream> own_streams_;
  std::vector<StreamRef> streams_;
  std::unique_ptr<StagingRing> ring_;
};

}  // namespace hiptool::load
