// SPDX-License-Identifier: MIT
#include "model/config_file.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "model/diagnostics.hpp"
#include "model/json_reader.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::uint64_t most_config_bytes = 4u << 20;
constexpr int deepest_config_nesting = 16;
constexpr int most_values = 200'000;  // a parsed one takes about 100 bytes

// Looked at before parsing: the parser's own callback compares each value with all before it in
// its array, so that 4 MiB could take it hours.
std::optional<std::string> why_unwieldy(std::string_view text) {
  int depth = 0;
  int values = 0;
  bool is_in_string = false;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char letter = text[index];
    if (is_in_string) {
      if (letter == '\\') ++index;
      is_in_string = letter != '"';
    } else if (letter == '"') {
      is_in_string = true;
    } else if (letter == '{' || letter == '[') {
      if (++depth > deepest_config_nesting) return "it is nested too deeply";
    } else if (letter == '}' || letter == ']') {
      --depth;
    } else if (letter == ',' && ++values > most_values) {
      return "it has more than 200000 values";
    }
  }
  return std::nullopt;
}

// The constant that begins there and JSON does not have; empty where none does.
std::string_view constant_at(std::string_view text, std::size_t at) {
  for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
    if (text[at] == word.front() && text.substr(at, word.size()) == word) return word;
  }
  return {};
}

// With null in place of constants.
std::string without_constants(std::string_view text) {
  std::string cleaned;
  cleaned.reserve(text.size());
  std::size_t copied = 0;
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') is_in_string = !is_in_string;
    if (is_in_string) {
      if (text[at] == '\\') ++at;
      continue;
    }
    const std::string_view word = constant_at(text, at);
    if (word.empty()) continue;
    cleaned.append(text.substr(copied, at - copied)).append("null");
    copied = at + word.size();
    at = copied - 1;
  }
  cleaned.append(text.substr(copied));
  return cleaned;
}

// The start of a value, for a message.
std::string shown_value(std::string_view text) {
  constexpr std::size_t most_bytes = 40;
  return in_quotes(text.size() <= most_bytes ? text : text.substr(0, most_bytes)) +
         (text.size() <= most_bytes ? "" : "...");
}

/// Refuses an object that has a key twice with different values, of which either could be meant.
class KeyCheck {
 public:
  KeyCheck(const base::File& file, std::string_view text)
      : text_(text), diagnostics_(file.path(), false) {
    diagnostics_.move_to(file.path(), "offset");
    JsonReader json(file, 0, file.size_bytes(), diagnostics_);
    json.accept_constants();
    check_value(json);
    json.finish();
  }

 private:
  // The text of the next value, which is read.
  std::string_view check_value(JsonReader& json) {
    const JsonReader::Kind kind = json.next();
    const auto begin = static_cast<std::size_t>(json.offset());
    if (kind == JsonReader::Kind::object) {
      json.enter();
      check_members(json);
    } else if (kind == JsonReader::Kind::array) {
      json.enter();
      while (json.next_element()) check_value(json);
    } else {
      json.skip();
    }
    return text_.substr(begin, static_cast<std::size_t>(json.offset()) - begin);
  }

  void check_members(JsonReader& json) {
    std::unordered_map<std::string, std::string_view> values;
    std::string key;
    while (json.next_key(key)) {
      const std::uint64_t offset = json.key_offset();
      const std::string_view value = check_value(json);
      const auto [place, is_new] = values.try_emplace(key, value);
      if (is_new) continue;
      if (!are_equal(place->second, value)) {
        diagnostics_.corrupt({"key", key, offset}, "the key appears twice, with the values " +
                                                       shown_value(place->second) + " and " +
                                                       shown_value(value));
      }
      place->second = value;  // each value is compared twice at most, however often a key repeats
    }
  }

  static bool are_equal(std::string_view left, std::string_view right) {
    if (left == right) return true;
    const auto parsed = [](std::string_view text) {
      return nlohmann::json::parse(without_constants(text), nullptr, false);
    };
    return parsed(left) == parsed(right);
  }

  std::string_view text_;
  Diagnostics diagnostics_;
};

}  // namespace

std::string read_config_file(const std::filesystem::path& path, nlohmann::json& json) {
  try {
    const base::File file = base::File::open(path);
    if (file.size_bytes() > most_config_bytes) return "it is larger than 4 MiB";
    std::string text(static_cast<std::size_t>(file.size_bytes()), '\0');
    file.read_at(std::as_writable_bytes(std::span(text)), 0);
    if (const auto reason = why_unwieldy(text)) return *reason;
    KeyCheck(file, text);
    json = nlohmann::json::parse(without_constants(text), nullptr, false);
    if (!json.is_object()) return "it is not a JSON object";
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace hiptool::model
