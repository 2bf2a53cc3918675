// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Opens the file as the next part of the model; messages are about it from then on.
base::File open_part(const std::filesystem::path& path, Diagnostics& diagnostics,
                     Contents& contents);

/// Opens a part of a model that was parsed. Throws Error(input_failed) where it is not the file any
/// more that it was then.
base::File open_unchanged(const ModelPart& part);
/// All parts of a model, in their order.
std::vector<base::File> open_unchanged(const ModelFile& model);
/// Throws Error(input_failed) where the file has changed since it was parsed.
void check_unchanged(const ModelPart& part, const base::File& file);
void check_unchanged(const ModelFile& model, const std::vector<base::File>& files);

/// The file's path from the model's folder on: its name, or "layers/0.safetensors" where an index
/// lists that.
std::string name_in_model(const ModelFile& model, const ModelPart& part);

/// True for 64 hexadecimal digits in lower case.
bool is_sha256(std::string_view text);

/// The SHA-256 that the path's name, or the name it is a link to, publishes: 64 hexadecimal digits
/// in a folder `blobs` (Hugging Face's cache) or `blobs/sha256` (OCI stores such as Docker Model
/// Runner's), or after `sha256-` (Ollama's).
std::optional<std::string> published_sha256(const std::filesystem::path& path);

/// The SHA-256 that a download into a folder (`hf download --local-dir`) has left for the file, in
/// FOLDER/.cache/huggingface/download/PATH.metadata, whose second line is the etag: of a large file
/// its SHA-256, of a small one a git hash, which is ignored.
std::optional<std::string> downloaded_sha256(const std::filesystem::path& path);

/// The link to that blob in a snapshot of the Hugging Face cache, which has the file's name; absent
/// where there is none.
std::optional<std::filesystem::path> link_in_snapshots(const std::filesystem::path& blob);

/// Why the path cannot be opened, for a message: "it is missing", "it is a link to a file that is
/// missing", "its download is not finished"; nothing when a file is there.
std::optional<std::string> why_missing(const std::filesystem::path& path);

/// Refuses the set, with one error that names the first of its files that are missing.
void check_present(const std::vector<std::filesystem::path>& paths, const std::string& set);

/// The path and what it is a link to, link by link.
std::vector<std::filesystem::path> with_link_targets(const std::filesystem::path& path);

}  // namespace hiptool::model
