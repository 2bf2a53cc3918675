// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// The SHA-256 that something apart from the file's contents says it has.
struct FileHash {
  std::string sha256;  ///< 64 hexadecimal digits in lower case
  std::string source;  ///< what says so: "the name of its blob", "SHA256SUMS"
};

/// What publishes the SHA-256 of a file:
///  - the name of a blob of the cache of Hugging Face, of Ollama or of Docker Model Runner, also
///    through links to it,
///  - .cache/huggingface/download, which `hf download --local-dir` writes,
///  - FILE.sha256 and other lists (SHA256SUMS, sha256sums.txt, checksums.txt, NAME.sha256) in the
///    file's folder, and SHA256SUMS and the like up to three folders above it.
/// Lists are read whole in each form that `sha256sum --check` reads, as Get-FileHash of PowerShell
/// prints them, and with the name in front of the hash; in UTF-8 or UTF-16.
///
/// The first of them; all must agree. Throws Error(corrupt_data) if two have different hashes of
/// the file, Error(input_failed) for a list that cannot be read.
std::optional<FileHash> find_file_hash(const ModelPart& part);

/// What find_file_hash() would take the hash from: "SHA256SUMS"; also where it would throw. Empty
/// if there is nothing.
std::string find_hash_source(const ModelPart& part);

/// Throws Error(corrupt_data) if anything publishes another SHA-256 of the file than that one.
void check_given_hash(const ModelPart& part, const std::string& sha256);

/// The lists that have a SHA-256 of the file, or could not be read.
std::vector<std::filesystem::path> lists_with(const ModelPart& part);

/// Names of the lists that were read and have no SHA-256 of the file.
std::vector<std::string> lists_without(const ModelPart& part);

/// The text as 64 hexadecimal digits in lower case, without a leading "sha256:"; absent if it is
/// not a SHA-256.
std::optional<std::string> parse_sha256(std::string_view text);

}  // namespace hiptool::model
