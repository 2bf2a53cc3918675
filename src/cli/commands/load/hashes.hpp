// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.hpp"
#include "cli/commands/load/run.hpp"
#include "cli/output/progress.hpp"
#include "load/manifest/file_hashes.hpp"
#include "load/manifest/manifest.hpp"
#include "results/load/outcome.hpp"

namespace hiptool::cli {

/// `--check-manifest` and `--write-manifest` of a load. Both concern files, so they run once for
/// any number of devices.
class LoadHashes {
 public:
  /// Reads the manifest, opens the output and starts to hash files. Throws as read_manifest() does,
  /// and Error(output_failed) if the output cannot be written.
  LoadHashes(const LoadArguments& arguments, results::LoadOutcome& outcome,
             const CancelToken& cancel);

  /// After the load and its verification: waits for the hashes, compares and writes. A difference
  /// is Error(manifest_mismatch), hashes of other bytes than the verified ones Error(input_failed).
  /// Does nothing if the device differs from the file, which is the more serious failure.
  void finish(Progress& progress);

 private:
  void want_manifest();
  void start();
  load::FileHashes::Options hash_options() const;
  void compare(const load::ModelDigests& found);
  void write_manifest(const load::ModelDigests& found);
  load::ModelDigests model_digests(std::span<const std::uint64_t> tensor_digests) const;
  std::vector<std::uint64_t> digest_files() const;

  const LoadArguments& arguments_;
  results::LoadOutcome& outcome_;
  const CancelToken& cancel_;
  std::optional<load::Manifest> manifest_;
  std::optional<base::OutputFile> output_;
  std::optional<load::HashKind> written_kind_;
  std::map<load::HashKind, std::unique_ptr<load::FileHashes>> hashes_;  // of tensors
  std::unique_ptr<load::FileHashes> metadata_;                          // null: not required
};

}  // namespace hiptool::cli
