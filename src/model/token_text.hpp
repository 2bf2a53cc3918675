// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// The text of these tokens by the vocabulary of a GGUF: byte-level BPE ("gpt2", whose tokens write
/// bytes as characters: OpenAI's GPT-2, encoder.py) or SentencePiece ("llama": U+2581 is a space,
/// <0x0A> a byte). Bytes that are not UTF-8 become U+FFFD. Absent for other tokenizers, and where
/// the vocabulary lacks an id. Throws Error(input_failed) when the file cannot be read any more.
std::optional<std::string> token_text(const ModelFile& model, std::span<const std::uint32_t> ids);

}  // namespace hiptool::model
