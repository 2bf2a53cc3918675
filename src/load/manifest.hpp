// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/model_file.hpp"
#include "load/file_hashes.hpp"

namespace hiptool::load {

/// What a model's tensors are to be. There are two forms:
///  - our digests (see verify_readback) as a JSON document of schema hiptool.manifest/1, which does
///    not depend on how the tensors are distributed over files;
///  - lines of llama-gguf-hash, "xxh64     <hex>  <file>:<tensor>" for each tensor and
///    "xxh64     <hex>  <file>" for all tensors of a file, one behind the other in file order. A
///    file's name counts there without its folder, since files are moved.
struct Manifest {
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t bytes = 0;
    std::string digest;
  };
  /// A line of llama-gguf-hash: for the file, or the file and one of its tensors; what it means is
  /// known only beside a model, because both may contain colons.
  struct Line {
    std::string hash;
    std::string name;
    std::uint64_t number = 0;  ///< in its file, from 1
  };

  std::filesystem::path path;
  std::optional<HashKind> kind;  ///< nothing: our digests
  std::string digest;            ///< of the model; may be empty for lines
  std::vector<Tensor> tensors;
  std::vector<Line> lines;  ///< of that kind only
};

/// Throws Error(manifest_mismatch) that names the first difference and counts the others: a tensor
/// that only one of both has, another type or shape, another digest.
void check_digests(const Manifest& manifest, const ModelFile& model,
                   std::span<const std::uint64_t> tensor_digests);
/// The same for lines. Every file must be covered, by a line for it or one for each of its tensors.
void check_hashes(const Manifest& manifest, const ModelFile& model,
                  const FileHashes::Hashes& hashes);

/// Whether the lines have one for a whole file of that model, so that chains are needed.
bool has_chains(const Manifest& manifest, const ModelFile& model);

}  // namespace hiptool::load
