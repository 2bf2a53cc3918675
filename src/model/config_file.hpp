// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hiptool::model {

/// Reads a config.json of Hugging Face into `json`. Returns why it cannot be used, or nothing: it
/// is unreadable, malformed, no object, above 4 MiB, nested deeper than 16 levels, has more than
/// 200 000 values or a key twice with different values. Infinity and NaN, which Python writes,
/// become null.
std::string read_config_file(const std::filesystem::path& path, nlohmann::json& json);

}  // namespace hiptool::model
