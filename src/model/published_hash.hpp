// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// The SHA-256 that something apart from the file's contents says it has.
struct FileHash {
  std::string sha256;  ///< 64 hexadecimal digits in lower case
  std::string source;  ///< what says so: "the name of its blob", "SHA256SUMS"
};

/// The first of
///  - the name of a blob of the Hugging Face cache or of Ollama's, also through links to it,
///  - .cache/huggingface/download, which `hf download --local-dir` writes,
///  - FILE.sha256, FILE.sha256sum, SHA256SUMS, SHA256SUMS.txt, sha256sums.txt or sha256sum.txt in
///    the file's folder, in the formats of `sha256sum` and `sha256sum --tag` (coreutils).
/// Throws Error(corrupt_data) if a list has two different hashes of the file.
std::optional<FileHash> find_file_hash(const ModelPart& part);

/// The list in the file's folder that has a SHA-256 of it, the last of those above: "SHA256SUMS";
/// empty if there is none, or none that can be read.
std::string find_hash_list(const ModelPart& part);

/// The text as 64 hexadecimal digits in lower case, without a leading "sha256:"; absent if it is
/// not a SHA-256.
std::optional<std::string> parse_sha256(std::string_view text);

}  // namespace hiptool::model
