// SPDX-License-Identifier: MIT
#include "model/tokenizer_files.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/diagnostics.hpp"
#include "model/json_reader.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

using JsonKind = JsonReader::Kind;

constexpr std::uint64_t most_template_bytes = 4u << 20;
constexpr std::uint64_t most_token_bytes = 4096;
constexpr std::size_t most_added_tokens = 100'000;

/// Tokens that are added to a vocabulary: texts by their ids.
using AddedTokens = std::map<std::uint64_t, std::string>;

// Reads one JSON object of the folder, member by member; false where the file is missing or cannot
// be used, with a warning in the latter case.
template <typename Visit>
bool read_members(const fs::path& path, TokenizerInfo& info, Visit&& visit) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  try {
    const base::File file = base::File::open(path);
    Diagnostics diagnostics(path, false);
    diagnostics.move_to(path, "offset");
    JsonReader json(file, 0, file.size_bytes(), diagnostics);
    json.accept_constants();
    json.want(JsonKind::object, {}, "the JSON text");
    json.enter();
    std::string key;
    while (json.next_key(key)) visit(json, key);
    json.finish();
    return true;
  } catch (const Error& error) {
    info.warnings.push_back(ignored_file(path, error.what()));
    return false;
  }
}

std::optional<std::string> text_value(JsonReader& json, std::uint64_t limit_bytes) {
  std::string text;
  if (json.next() != JsonKind::text) {
    json.skip();
    return std::nullopt;
  }
  return json.read_text(text, limit_bytes) ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<std::uint64_t> whole_value(JsonReader& json) {
  if (json.next() != JsonKind::number) {
    json.skip();
    return std::nullopt;
  }
  const JsonReader::Number number = json.read_number();
  return number.is_whole ? std::optional(number.whole) : std::nullopt;
}

// {"id": 0, "content": "<s>", ...} in tokenizer.json.
void read_added_token(JsonReader& json, AddedTokens& added) {
  if (json.next() != JsonKind::object) return json.skip();
  std::optional<std::uint64_t> id;
  std::optional<std::string> content;
  std::string key;
  json.enter();
  while (json.next_key(key)) {
    if (key == "id") {
      id = whole_value(json);
    } else if (key == "content") {
      content = text_value(json, most_token_bytes);
    } else {
      json.skip();
    }
  }
  if (id && content && added.size() < most_added_tokens) added[*id] = std::move(*content);
}

std::uint64_t count_elements(JsonReader& json) {
  std::uint64_t count = 0;
  if (json.next() != JsonKind::array) {
    json.skip();
    return count;
  }
  json.enter();
  while (json.next_element()) {
    json.skip();
    ++count;
  }
  return count;
}

/// The member `model` of tokenizer.json.
struct Vocabulary {
  std::uint64_t tokens = 0;
  std::uint64_t most_id = 0;  ///< of a vocabulary that names ids
};

Vocabulary read_vocabulary(JsonReader& json) {
  Vocabulary found;
  if (json.next() != JsonKind::object) {  // pairs of a text and its score, the id is their place
    found.tokens = count_elements(json);
    found.most_id = found.tokens == 0 ? 0 : found.tokens - 1;
    return found;
  }
  json.enter();
  std::string token;
  while (json.next_key(token)) {
    ++found.tokens;
    if (const auto id = whole_value(json)) found.most_id = std::max(found.most_id, *id);
  }
  return found;
}

Vocabulary read_tokenizer_model(JsonReader& json, TokenizerInfo& info) {
  Vocabulary vocabulary;
  if (json.next() != JsonKind::object) {
    json.skip();
    return vocabulary;
  }
  json.enter();
  std::string key;
  while (json.next_key(key)) {
    if (key == "type") {
      info.model = text_value(json, most_token_bytes);
    } else if (key == "vocab") {
      vocabulary = read_vocabulary(json);
    } else if (key == "merges") {
      info.merges = count_elements(json);
    } else {
      json.skip();
    }
  }
  return vocabulary;
}

AddedTokens read_tokenizer_json(const fs::path& folder, TokenizerInfo& info) {
  AddedTokens added;
  Vocabulary vocabulary;
  const bool is_read =
      read_members(folder / "tokenizer.json", info, [&](JsonReader& json, const std::string& key) {
        if (key == "model") {
          vocabulary = read_tokenizer_model(json, info);
        } else if (key == "added_tokens" && json.next() == JsonKind::array) {
          json.enter();
          while (json.next_element()) read_added_token(json, added);
        } else {
          json.skip();
        }
      });
  if (!is_read || vocabulary.tokens == 0) return added;
  // Added tokens with ids of the vocabulary are also in the vocabulary.
  info.tokens = vocabulary.tokens + static_cast<std::uint64_t>(std::distance(
                                        added.upper_bound(vocabulary.most_id), added.end()));
  return added;
}

// One template as a text, or several as [{"name": ..., "template": ...}].
void read_templates(JsonReader& json, TokenizerInfo& info) {
  if (json.next() != JsonKind::array) {
    if (auto text = text_value(json, most_template_bytes)) {
      info.templates.push_back({"", std::move(*text)});
    }
    return;
  }
  json.enter();
  while (json.next_element()) {
    if (json.next() != JsonKind::object) {
      json.skip();
      continue;
    }
    ChatTemplate found;
    std::string key;
    json.enter();
    while (json.next_key(key)) {
      if (key == "name") {
        found.name = text_value(json, most_token_bytes).value_or("");
      } else if (key == "template") {
        found.text = text_value(json, most_template_bytes).value_or("");
      } else {
        json.skip();
      }
    }
    if (found.name == "default") found.name.clear();
    info.templates.push_back(std::move(found));
  }
}

// "<s>", or {"content": "<s>", ...} as older versions of transformers wrote it.
std::optional<std::string> token_text(JsonReader& json) {
  if (json.next() != JsonKind::object) return text_value(json, most_token_bytes);
  std::optional<std::string> content;
  std::string key;
  json.enter();
  while (json.next_key(key)) {
    if (key == "content") {
      content = text_value(json, most_token_bytes);
    } else {
      json.skip();
    }
  }
  return content;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> roles{
    {{"bos", "bos"}, {"eos", "eos"}, {"pad", "padding"}, {"unk", "unknown"}}};

using TokensOfRoles = std::map<std::string, std::string>;

TokensOfRoles read_tokenizer_config(const fs::path& folder, TokenizerInfo& info) {
  TokensOfRoles tokens;
  read_members(folder / "tokenizer_config.json", info,
               [&](JsonReader& json, const std::string& key) {
                 if (key == "chat_template") return read_templates(json, info);
                 for (const auto& [word, role] : roles) {
                   if (key != std::string(word) + "_token") continue;
                   if (auto text = token_text(json)) tokens[std::string(role)] = std::move(*text);
                   return;
                 }
                 json.skip();
               });
  return tokens;
}

// Ids of roles: one number, or of `eos` several.
std::map<std::string, std::vector<std::uint64_t>> read_ids(const fs::path& path,
                                                           TokenizerInfo& info) {
  std::map<std::string, std::vector<std::uint64_t>> ids;
  read_members(path, info, [&](JsonReader& json, const std::string& key) {
    for (const auto& [word, role] : roles) {
      if (key != std::string(word) + "_token_id") continue;
      auto& list = ids[std::string(role)];
      if (json.next() == JsonKind::array) {
        json.enter();
        while (json.next_element()) {
          if (const auto id = whole_value(json)) list.push_back(*id);
        }
      } else if (const auto id = whole_value(json)) {
        list.push_back(*id);
      }
      return;
    }
    json.skip();
  });
  return ids;
}

void add_special_tokens(const fs::path& folder, const AddedTokens& added,
                        const TokensOfRoles& tokens, TokenizerInfo& info) {
  auto ids = read_ids(folder / "generation_config.json", info);
  for (auto& [role, list] : read_ids(folder / "config.json", info)) {
    if (ids[role].empty()) ids[role] = list;
  }
  for (const auto& token : tokens) {  // a role whose id only its text gives
    auto& list = ids[token.first];
    if (!list.empty()) continue;
    const auto found =
        std::ranges::find_if(added, [&](const auto& one) { return one.second == token.second; });
    if (found != added.end()) list = {found->first};
  }
  for (const auto& [word, role] : roles) {
    for (const std::uint64_t id : ids[std::string(role)]) {
      SpecialToken token{std::string(role), id, {}};
      if (const auto found = added.find(id); found != added.end()) token.text = found->second;
      info.special.push_back(std::move(token));
    }
  }
}

}  // namespace

void read_tokenizer_files(const fs::path& folder, TokenizerInfo& info) {
  const AddedTokens added = read_tokenizer_json(folder, info);
  const TokensOfRoles tokens = read_tokenizer_config(folder, info);
  // transformers prefers the template in a file of its own.
  std::string text = base::decode_text(base::read_small_file(folder / "chat_template.jinja"));
  if (!text.empty()) {
    std::erase_if(info.templates, [](const ChatTemplate& one) { return one.name.empty(); });
    info.templates.push_back({"", std::move(text)});
  }
  std::stable_partition(info.templates.begin(), info.templates.end(),
                        [](const ChatTemplate& one) { return one.name.empty(); });
  add_special_tokens(folder, added, tokens, info);
}

}  // namespace hiptool::model
