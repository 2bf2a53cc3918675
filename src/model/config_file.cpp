// SPDX-License-Identifier: MIT
#include "model/config_file.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "model/diagnostics.hpp"
#include "model/json_reader.hpp"
#include "model/unique_keys.hpp"

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

// Past the next value. Throws Error(corrupt_data) for an object with one key twice.
void check_keys(JsonReader& json) {
  const JsonReader::Kind kind = json.next();
  if (kind == JsonReader::Kind::object) {
    json.enter();
    std::string key;
    for (UniqueKeys keys(json); keys.next(key);) check_keys(json);
  } else if (kind == JsonReader::Kind::array) {
    json.enter();
    while (json.next_element()) check_keys(json);
  } else {
    json.skip();
  }
}

void check_keys(const base::File& file) {
  Diagnostics diagnostics(file.path(), false);
  diagnostics.move_to(file.path(), "offset");
  JsonReader json(file, 0, file.size_bytes(), diagnostics);
  json.accept_constants();
  check_keys(json);
  json.finish();
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

}  // namespace

std::string read_config_file(const std::filesystem::path& path, nlohmann::json& json) {
  try {
    const base::File file = base::File::open(path);
    if (file.size_bytes() > most_config_bytes) return "it is larger than 4 MiB";
    std::string text(static_cast<std::size_t>(file.size_bytes()), '\0');
    file.read_at(std::as_writable_bytes(std::span(text)), 0);
    if (const auto reason = why_unwieldy(text)) return *reason;
    check_keys(file);
    json = nlohmann::json::parse(without_constants(text), nullptr, false);
    if (!json.is_object()) return "it is not a JSON object";
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace hiptool::model
