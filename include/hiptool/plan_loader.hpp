// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hiptool/async_loader.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool {

class Verification;

/// What a load onto several devices did.
struct PlanStatistics {
  /// Of all together: load_time_s from the first read to the last copy on any device, copy_time_s
  /// of the device that took longest, sums of bytes, readers and slots.
  LoadStatistics total;
  /// By device of the plan: only load_time_s, copy_time_s, copied_bytes, readers, slots and
  /// slot_bytes; all zero for one that gets no tensors. What was read is known of all together.
  std::vector<LoadStatistics> devices;
};

/// Loads a plan onto all its devices at once: an AsyncLoader for each, with its own streams, slots
/// and readers near the device; files are opened once. Copies on several devices are read once: the
/// others get each slot from the first device's memory where they can reach it, else from the slot.
/// Keeps copies of model and plan. One thread at a time.
class HIPTOOL_API PlanLoader {
 public:
  /// As those of AsyncLoader; `readers` are those of all devices together (0: one for each core, at
  /// most 16 a device; each device gets one at least), `slots` those of each device, and each of
  /// `external_streams` serves the device that it is on; a device without one gets own ones. Throws
  /// as AsyncLoader does, and Error(invalid_argument) for a stream on a device that is not in the
  /// plan.
  PlanLoader(const ModelFile& model, const LoadPlan& plan, AsyncLoader::Options options);
  PlanLoader(const ModelFile& model, const LoadPlan& plan);
  ~PlanLoader();
  PlanLoader(const PlanLoader&) = delete;
  PlanLoader& operator=(const PlanLoader&) = delete;

  /// AsyncLoader::prepare for all devices at once; may run beside load() too. Blocks.
  void prepare();

  /// An arena on each device, at once on all; empty for a device that gets no tensors. Blocks.
  /// Throws what the runtime answered, first of all Error(out_of_memory).
  std::vector<Buffer> allocate() const;

  /// AsyncLoader::load on all devices at once. `arenas`: one for each device of the plan, in its
  /// order. When one device fails, its error is thrown and the others stop; whatever happens, no
  /// copy is in flight afterwards. Throws Error(invalid_argument) for another number of arenas and
  /// for a verification of another plan or other arenas, else as AsyncLoader::load. Blocks.
  PlanStatistics load(std::span<const Buffer> arenas, Verification* verification = nullptr);

  /// AsyncLoader::probe_read_bytes_per_s for all devices at once, each with so many bytes: the sum,
  /// which a load cannot exceed. `arenas` as of load(). Blocks.
  double probe_read_bytes_per_s(std::span<const Buffer> arenas, std::uint64_t most_bytes);

  /// Whether copies go from device to device, for a plan of copies; by device, the first is false.
  const std::vector<bool>& reaches_first() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
