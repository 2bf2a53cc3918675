// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/file_digests.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/verify.hpp"

namespace hiptool {

namespace load {
class ChunkSink;
}

/// Verification by digests while a model is loaded: a kernel on the device computes the digest of
/// each leaf as it arrives, the host computes those of the file, and the two lists are compared.
/// Hand it to AsyncLoader::load and call finish() afterwards. The arena must outlive it. The layout
/// may have a part of the model; only that part is verified then.
class HIPTOOL_API LeafVerification {
 public:
  /// Where the host's digests come from.
  enum class Reference {
    file,  ///< a second, independent reader (mode `full`); it starts at once, on threads of its own
    slots,  ///< the staging slots as they were read, keyed by the file offsets that were issued and
            ///< checked against the parsed header (mode `fast`): catches what goes wrong after that
  };

  /// Begins to load the digest kernel, on a thread of its own where there is an image of it; else
  /// blocks while it is compiled. Throws Error(unsupported) where the device has neither an image
  /// nor a run-time compiler, else what the runtime answered.
  LeafVerification(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                   Reference reference, const VerifyOptions& options = {});
  /// The same with a second reader that has started already, such as before the device did. It may
  /// serve several. options.threads is not used; limit_threads() of the reader is left to the
  /// caller. A null one is Reference::slots.
  LeafVerification(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                   std::shared_ptr<FileDigests> files, const VerifyOptions& options = {});
  /// Of a copy of the same layout in another arena, made from what the original's was made from:
  /// the reference is the original's. It is finished after the original, which must outlive it.
  LeafVerification(const LeafVerification& original, const Buffer& arena,
                   const VerifyOptions& options = {});
  /// Stops reading (unless others share the reader) and waits for the device; failures go to the
  /// trace.
  ~LeafVerification();
  LeafVerification(const LeafVerification&) = delete;
  LeafVerification& operator=(const LeafVerification&) = delete;

  /// Waits for both lists and compares them. A difference is narrowed down by reading the leaf
  /// back. Throws as verify_readback does, what the second reader failed with, and what the
  /// digest kernel could not be loaded with.
  VerifyResult finish();

  /// Digests the whole arena anew and compares it with the digests of the file; after finish().
  VerifyResult recheck();

  /// The kernel image in use: "sm_60", "gfx90a", "cpu", "compiled for sm_90". Waits until it is
  /// loaded; throws what that failed with.
  const std::string& image() const;

  /// For AsyncLoader.
  load::ChunkSink& sink() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
