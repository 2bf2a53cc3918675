// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/load/outcome.hpp"
#include "cli/commands/load/run.hpp"
#include "cli/progress.hpp"
#include "load/file_hashes.hpp"
#include "load/manifest.hpp"
#include "model/output_file.hpp"

namespace hiptool::cli {

/// What `--verify published`, `--check-manifest` and `--write-manifest` do beside a load. They are
/// about files: however many devices there are, it takes place once.
class LoadHashes {
 public:
  /// Reads the manifest, sees that everything wanted can be had, and begins to hash files. Throws
  /// what reading the manifest throws, Error(output_failed) where the other cannot be written and
  /// Error(invalid_argument) where no hash is published for a file.
  LoadHashes(const LoadOptions& options, LoadOutcome& outcome, const CancelToken& cancel);
  ~LoadHashes();

  /// After the load and its verification: waits for the hashes, compares and writes. A difference
  /// is Error(manifest_mismatch). Does nothing where the device was found to differ from the file,
  /// which is the worse news. `tensor_digests` are those of the files' bytes, by index of
  /// ModelFile::tensors(); nothing where none were computed.
  void finish(std::optional<std::vector<std::uint64_t>> tensor_digests, Progress& progress);

 private:
  void want_published();
  void want_manifest();
  void start();
  void check_published(const load::FileHashes::Hashes& hashes);
  void compare_and_write(const std::vector<std::uint64_t>& tensor_digests);
  std::vector<std::uint64_t> digest_files() const;
  void write(const std::string& text);

  const LoadOptions& options_;
  LoadOutcome& outcome_;
  const CancelToken& cancel_;
  std::optional<load::Manifest> manifest_;
  std::optional<model::OutputFile> output_;
  std::optional<load::HashKind> written_kind_;
  // One for each kind that is wanted; the first also has the published ones.
  std::vector<std::unique_ptr<load::FileHashes>> hashes_;
  std::vector<std::optional<load::HashKind>> kinds_;
};

}  // namespace hiptool::cli
