// SPDX-License-Identifier: MIT
#include "model/tokenizer_info.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "model/ollama.hpp"
#include "model/tokenizer_files.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view token_prefix = "tokenizer.ggml.";
constexpr std::string_view template_key = "tokenizer.chat_template";

// The token of that id, where the file has one.
std::optional<std::string> token_of(const ModelFile& model, std::uint64_t id) {
  const auto found = model.texts("tokenizer.ggml.tokens", id, 1);
  return found && !found->empty() ? std::optional(found->front()) : std::nullopt;
}

// llama.cpp writes some roles in a spelling of its own.
std::string role_name(std::string_view word) {
  if (word == "seperator") return "separator";
  return std::string(word);
}

void read_gguf_tokens(const ModelFile& model, TokenizerInfo& info) {
  constexpr std::string_view id_end = "_token_id";
  info.model = model.text("tokenizer.ggml.model");
  info.pre = model.text("tokenizer.ggml.pre");
  info.tokens = model.array_size("tokenizer.ggml.tokens");
  info.merges = model.array_size("tokenizer.ggml.merges");
  std::vector<std::string> named;
  for (const MetadataEntry& entry : model.metadata()) {
    const std::string_view key = entry.key;
    if (key.starts_with(token_prefix) && key.ends_with(id_end)) {
      const auto id = model.unsigned_integer(key);
      if (!id) continue;
      const std::size_t size = key.size() - token_prefix.size() - id_end.size();
      info.special.push_back(
          {role_name(key.substr(token_prefix.size(), size)), *id, token_of(model, *id)});
    } else if (key.starts_with(std::string(template_key) + ".")) {
      named.push_back(entry.key);
    }
  }
  if (auto text = model.text(template_key)) info.templates.push_back({"", std::move(*text)});
  for (const std::string& key : named) {
    auto text = model.text(key);
    if (text) info.templates.push_back({key.substr(template_key.size() + 1), std::move(*text)});
  }
}

// `license: apache-2.0` between the lines `---` that a model card begins with.
std::optional<std::string> license_of_card(std::string_view card) {
  std::optional<std::string> found;
  bool is_first = true;
  while (!card.empty()) {
    const std::size_t end = std::min(card.find('\n'), card.size());
    std::string_view line = card.substr(0, end);
    card.remove_prefix(std::min(end + 1, card.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (std::exchange(is_first, false)) {
      if (line != "---") return std::nullopt;
      continue;
    }
    if (line == "---") return found;
    for (const std::string_view key : {"license: ", "license_name: "}) {
      if (!line.starts_with(key)) continue;
      std::string_view value = line.substr(key.size());
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      const bool is_quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
                             value.back() == value.front();
      if (is_quoted) value = value.substr(1, value.size() - 2);
      // A card with a licence of its own says `license: other` and its name in another line.
      if (!value.empty() && (!found || *found == "other")) found = std::string(value);
    }
  }
  return std::nullopt;
}

std::optional<std::string> first_line(const std::optional<std::string>& text) {
  constexpr std::string_view blanks = " \t\r\n";
  if (!text) return std::nullopt;
  const std::size_t begin = text->find_first_not_of(blanks);
  if (begin == std::string::npos) return std::nullopt;
  const std::string line = text->substr(begin, text->find('\n', begin) - begin);
  return line.substr(0, line.find_last_not_of(blanks) + 1);
}

}  // namespace

TokenizerInfo read_tokenizer(const ModelFile& model) {
  TokenizerInfo info;
  if (model.format() == ModelFormat::gguf) {
    read_gguf_tokens(model, info);
  } else {
    read_tokenizer_files(model.folder(), info);
  }
  return info;
}

std::optional<std::string> read_license(const ModelFile& model) {
  if (model.format() == ModelFormat::gguf) {
    auto license = model.text("general.license");
    if (license && *license == "other") {
      if (auto name = model.text("general.license.name")) return name;
    }
    // Ollama has the whole text in a layer of its own; its first line is the name.
    if (!license) license = first_line(read_ollama_license(model.path()));
    return license;
  }
  return license_of_card(base::decode_text(base::read_small_file(model.folder() / "README.md")));
}

}  // namespace hiptool::model
