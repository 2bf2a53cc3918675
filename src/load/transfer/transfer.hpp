// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"
#include "load/transfer/device_ring.hpp"

namespace hiptool::load {

class FileSet;
class Verification;

/// What a transfer did.
struct TransferStatistics {
  /// Of all devices: load_time_s from the first read to the last copy, copy_time_s of the slowest
  /// device, sums of bytes, readers and slots.
  LoadStatistics total;
  /// By device of the plan: only load_time_s, copy_time_s, copied_bytes, readers, slots and
  /// slot_bytes; all zero for a device without tensors.
  std::vector<LoadStatistics> devices;
};

/// Moves the tensors of a plan from their files to all its devices at once: each device has its own
/// streams, slots and readers near it; files are opened once. Copies on several devices are read
/// once: the others get each slot from the first device's memory where they can reach it, else from
/// the slot. Keeps copies of model and plan. One thread at a time.
class Transfer {
 public:
  /// The plan must be of the model. Throws Error(invalid_argument) for sizes that are zero or out
  /// of bounds and for a stream on a device that is not in the plan.
  Transfer(const ModelFile& model, const LoadPlan& plan, TransferOptions options = {});
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Starts the threads that read, and pins the slots (DeviceRing::prepare), for all devices at
  /// once. May run during load(). Blocks, and throws as DeviceRing::prepare does.
  void prepare();

  /// An arena on each device, all at once; empty for a device without tensors. Blocks. Throws what
  /// the runtime answered, mostly Error(out_of_memory).
  std::vector<Buffer> allocate() const;

  /// Reads the placed tensors into the arenas, one for each device of the plan, and waits until all
  /// of them have arrived. Gaps between tensors become zero. When one device fails, its error is
  /// thrown and the others stop; no copy is in flight afterwards, whatever happens. Throws
  /// Error(input_failed) when a file is shorter than at parsing, cannot be read, or was truncated,
  /// grown, written to or replaced up to the end of the load, Error(cancelled),
  /// Error(invalid_argument) for arenas or a verification that are of another plan, else what the
  /// runtime answered. A verification by slots needs slots of two blocks of 16 KiB.
  TransferStatistics load(std::span<const Buffer> arenas, Verification* verification = nullptr);

  /// Reads what load() reads first, that many bytes for each device, without copying them: the rate
  /// in bytes per second that load() cannot exceed. Arenas that the host writes in place get the
  /// bytes that they have after load(). Blocks. Throws as load() does.
  double probe_read_bytes_per_s(std::span<const Buffer> arenas, std::uint64_t most_bytes);

  /// Threads that read, of all devices.
  std::uint32_t readers() const noexcept;

  /// Whether copies go from device to device; by device of the plan, the first is false.
  const std::vector<bool>& reaches_first() const noexcept;

  /// The pinned memory of a device's ring while no load runs; empty where it has none.
  std::span<std::byte> staging(std::size_t device) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool::load
