// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "model/tokenizer_info.hpp"

namespace hiptool::model {

/// Adds what tokenizer.json, tokenizer_config.json, chat_template.jinja, generation_config.json and
/// config.json in that folder say. A missing file is fine; an unusable one adds a warning.
void read_tokenizer_files(const std::filesystem::path& folder, TokenizerInfo& info);

}  // namespace hiptool::model
