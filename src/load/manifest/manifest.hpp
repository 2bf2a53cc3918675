// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "load/manifest/file_hashes.hpp"

namespace hiptool::load {

/// The expected contents of a model. There are two forms:
///  - our digests (see verify_readback) as a JSON document of schema hiptool.manifest/1. Tensors
///    are matched by name, so it does not depend on how they are distributed over files; the
///    metadata (all bytes outside tensors) is matched by the order of the files, so they may be
///    renamed. Digests are XXH3-64, which detects damage but not tampering; SHA-256 is optional;
///  - lines of llama-gguf-hash, "xxh64     <hex>  <file>:<tensor>" for each tensor and
///    "xxh64     <hex>  <file>" for all tensors of a file, concatenated in file order. Files are
///    matched by name without folder, since files are moved. Lines do not cover the metadata.
struct Manifest {
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t bytes = 0;
    std::string digest;
    std::string sha256 = {};  ///< empty: none in the manifest
  };
  struct Metadata {
    std::string file;  ///< its name when the manifest was written; not compared
    std::uint64_t bytes = 0;
    std::string digest;
    std::string sha256;  ///< as of a tensor
  };
  /// A line of llama-gguf-hash: for the file, or the file and one of its tensors. Only a
  /// given model distinguishes the two, because both names may contain colons.
  struct Line {
    std::string hash;
    std::string name;
    std::uint64_t number = 0;  ///< in its file, from 1
  };

  std::filesystem::path path;
  std::optional<HashKind> kind;  ///< nothing: our digests
  std::string digest;            ///< of the model; may be empty for lines
  std::vector<Tensor> tensors;
  bool covers_metadata = false;  ///< false for lines and for documents of older versions
  bool has_sha256 = false;       ///< of each tensor and of the metadata, in addition to our digests
  std::vector<Metadata> metadata;  ///< in the order of the files
  std::vector<Line> lines;         ///< of that kind only
};

/// One difference between a manifest and a model, of a tensor, of a file, or of the model where
/// both names are empty.
struct ManifestDifference {
  std::string tensor;
  std::string file;
  std::string
      what;  ///< "type", "shape", "bytes", "digest", "sha256", "tensor", "metadata bytes"...
  std::string expected;  ///< by the manifest; "absent" where only the model has it
  std::string got;       ///< "absent" where only the manifest has it
};

/// Digests of a model, by the index of its tensors.
struct ModelDigests {
  std::span<const std::uint64_t> tensors;
  std::optional<std::span<const std::string>> sha256 = {};  ///< for a manifest that has them
  std::span<const FileHashes::Metadata> metadata = {};      ///< for a manifest that covers it
};

/// "[4096, 32]".
std::string shape_text(const std::vector<std::uint64_t>& shape);

/// All differences: a tensor that only one of both has, another type, shape or digest, other
/// metadata, another number of files where the metadata is covered.
std::vector<ManifestDifference> compare_digests(const Manifest& manifest, const ModelFile& model,
                                                const ModelDigests& found);
/// The same for lines. Every file must be covered, by a line for it or one for each of its tensors.
std::vector<ManifestDifference> compare_hashes(const Manifest& manifest, const ModelFile& model,
                                               const FileHashes::Hashes& hashes);

/// Error(manifest_mismatch) that lists the first differences, one per line, and counts the rest.
Error manifest_error(const Manifest& manifest, const ModelFile& model,
                     std::span<const ManifestDifference> differences);

/// Whether the lines have one for a whole file of that model, so that chains are needed.
bool has_chains(const Manifest& manifest, const ModelFile& model);

}  // namespace hiptool::load
