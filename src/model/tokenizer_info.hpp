// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// A token with a role of its own.
struct SpecialToken {
  std::string role;  ///< "bos", "eos", "padding"
  std::uint64_t id = 0;
  std::optional<std::string> text;  ///< absent where the vocabulary has no such id
};

struct ChatTemplate {
  std::string name;  ///< empty for the default one
  std::string text;
};

/// What a model says about its tokenizer; the tokens themselves stay in the file.
struct TokenizerInfo {
  std::optional<std::string> model;  ///< "gpt2", "llama" (GGUF); "BPE", "Unigram" (Hugging Face)
  std::optional<std::string> pre;    ///< GGUF's name of the pre-tokenizer: "qwen2"
  std::optional<std::uint64_t> tokens;
  std::optional<std::uint64_t> merges;
  std::vector<SpecialToken> special;
  std::vector<ChatTemplate> templates;  ///< the default one first
  std::vector<std::string> warnings;    ///< about files that are ignored, one sentence each
};

/// Reads the keys tokenizer.* of a GGUF (ggml's gguf.md), or for safetensors tokenizer.json,
/// tokenizer_config.json, chat_template.jinja and the token ids in generation_config.json or
/// config.json next to the files (Hugging Face tokenizers and transformers). A missing file is
/// fine, a malformed one is ignored with a warning. Blocks while it reads; throws
/// Error(input_failed) when a GGUF cannot be read any more or changed since it was parsed.
TokenizerInfo read_tokenizer(const ModelFile& model);

/// The name of the model's licence: general.license of a GGUF, or the first line of the licence in
/// its manifest of Ollama's, or `license` in the front matter of README.md next to safetensors
/// (Hugging Face model cards); absent where there is none.
std::optional<std::string> read_license(const ModelFile& model);

}  // namespace hiptool::model
