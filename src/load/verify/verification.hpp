// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>
#include <string>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "load/verify/file_digests.hpp"
#include "load/verify/readback.hpp"

namespace hiptool::load {

class ChunkSink;

/// Verification of a load by digests. When all copies are done, a kernel on each device of a plan
/// computes the digest of every block of 16 KiB that is in its memory then, and the host compares
/// them with digests of the file. So the verdict is about the memory as it is after the last copy:
/// a write that landed late, or at a wrong address, is found too.
///
/// Make it before the load, hand it to Transfer::load, and call finish()
/// afterwards. One device is a plan of one; the plan's layouts may have a part of the model, and
/// only that part is verified then. Keeps copies of model and plan. One thread at a time.
class Verification {
 public:
  /// `arenas`: one for each device of the plan, in its order; an empty one where a device gets no
  /// tensors. `files`: a second, independent reading of the files (mode `full`), which may have
  /// started before any device did and may serve several verifications. Null: the digests of the
  /// staging slots as they were read, found by the file offsets that were issued and checked
  /// against the parsed header (mode `fast`); they show what goes wrong after the reading.
  ///
  /// Begins to load the digest kernel on a thread of its own where a device has an image of it;
  /// else blocks while it is compiled. Throws Error(unsupported) where a device has neither an
  /// image nor a run-time compiler, Error(invalid_argument) or Error(out_of_bounds) for arenas
  /// that do not fit the plan, which must be of the model, else what the runtime answered.
  Verification(const ModelFile& model, const LoadPlan& plan, std::span<const Buffer> arenas,
               std::shared_ptr<FileDigests> files, const VerifyOptions& options = {});
  /// Waits for the devices; failures go to the trace. Stops the second reading unless others share
  /// it.
  ~Verification();
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  /// Digests the arenas as they are now, on all devices at once, waits for the digests of the files
  /// and compares. A difference is a result, not an exception; it is narrowed down to bytes by
  /// reading the block back. Copies into the arenas must be done, as they are after load(). May be
  /// called again and then digests the memory again. Blocks. Throws Error(input_failed) where a
  /// file could not be read or changed, Error(cancelled) by the token of the options, what the
  /// kernel could not be loaded with, else what the runtime answered.
  VerifyResult finish();

  /// The kernel image in use on the first device that gets tensors: "sm_60", "gfx90a", "cpu",
  /// "compiled for sm_90"; empty without one. Blocks until it is loaded; throws what that failed
  /// with.
  std::string image() const;

  /// For the loaders: throws Error(invalid_argument) unless this was made for that model and has
  /// that arena with that layout.
  void require(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena) const;

  /// For the loaders: takes the slots of all devices as they are read. Null where the reference is
  /// a second reading.
  ChunkSink* sink() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool::load
