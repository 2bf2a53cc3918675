// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hiptool::model {

/// True where the file's name is one that downloaders give to files they have not finished.
bool has_unfinished_name(const std::filesystem::path& path);

/// What a downloader that has not finished the file keeps next to it, or next to the file that its
/// links lead to: FILE.aria2, FILE.part, FILE.incomplete and the like.
std::optional<std::filesystem::path> unfinished_beside(const std::filesystem::path& path);

/// "m.gguf.aria2 is next to the file, so its download ..." for a file of full length; empty where
/// there is nothing.
std::string unfinished_note(const std::filesystem::path& path);

/// Unfinished downloads that belong to the folder, first of the file of that name.
std::vector<std::filesystem::path> unfinished_downloads(const std::filesystem::path& folder,
                                                        const std::string& name = {});

}  // namespace hiptool::model
