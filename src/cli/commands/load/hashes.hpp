// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/load/file_hashes.hpp"
#include "cli/commands/load/manifest.hpp"
#include "cli/commands/load/outcome.hpp"
#include "cli/commands/load/run.hpp"
#include "cli/progress.hpp"
#include "hiptool/file_digests.hpp"
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
  /// which is the worse news. `tensor_digests` are those that were verified, by index of
  /// ModelFile::tensors(), nothing where none were: hashes of other bytes than these are
  /// Error(input_failed). `files` has the SHA-256 of published files, null where none are wanted.
  void finish(std::optional<std::vector<std::uint64_t>> tensor_digests, FileDigests* files,
              Progress& progress);

 private:
  using Hashes = std::map<HashKind, std::unique_ptr<FileHashes>>;

  void want_published();
  void want_manifest();
  void start();
  FileHashes::Options hash_options() const;
  void check_published(FileDigests& files);
  void compare(const ModelDigests& found);
  void write_manifest(const ModelDigests& found);
  ModelDigests model_digests(std::span<const std::uint64_t> tensor_digests) const;
  std::vector<std::uint64_t> digest_files() const;
  void write(const std::string& text);

  const LoadOptions& options_;
  LoadOutcome& outcome_;
  const CancelToken& cancel_;
  std::optional<Manifest> manifest_;
  std::optional<model::OutputFile> output_;
  std::optional<HashKind> written_kind_;
  Hashes hashes_;                         // of tensors, one for each kind that is wanted
  std::unique_ptr<FileHashes> metadata_;  // null where it is not wanted
};

/// Waits until all is read and shows how far it is; what is done already is not part of the rate.
void show_progress(const FileDigests& files, Progress& progress);

}  // namespace hiptool::cli
