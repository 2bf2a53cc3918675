// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "hiptool/model_file.hpp"
#include "load/manifest/file_hashes.hpp"
#include "load/manifest/manifest.hpp"

namespace hiptool::load {

/// Reads a manifest; the content decides its form, and of several kinds of hashes the strongest is
/// used: SHA-256, XXH64, XXH3. Blocks. Throws Error(input_failed) if it cannot be read or has no
/// supported hash, Error(corrupt_data) if it is malformed or has a key, a tensor or a line's name
/// twice.
Manifest read_manifest(const std::filesystem::path& path);

/// Whether the file is a manifest of either form.
bool is_manifest(const std::filesystem::path& path);

/// The form that a manifest of that name is written in: lines for .sha256, .xxh64 and .xxh3.
std::optional<HashKind> manifest_kind_of_name(const std::filesystem::path& path);

/// The text of a manifest of our digests, with SHA-256 of tensors and metadata if found.sha256 is
/// given. Requires found.metadata. Throws Error(unsupported) for a name that is
/// not valid UTF-8, which JSON cannot hold.
std::string digest_manifest(const ModelFile& model, const ModelDigests& found);

/// The same as lines. Throws Error(unsupported) for a name with a line break, which lines cannot
/// hold.
std::string hash_manifest(const ModelFile& model, HashKind kind, const FileHashes::Hashes& hashes);

}  // namespace hiptool::load
