// SPDX-License-Identifier: MIT
#include "model/published_hash.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "model/parts.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sha256_digits = 64;
constexpr std::array<std::string_view, 4> list_names{"SHA256SUMS", "SHA256SUMS.txt",
                                                     "sha256sums.txt", "sha256sum.txt"};

struct ListLine {
  std::string sha256;
  std::string name;
};

// coreutils: a line with a backslash in front has \n, \r and \\ in its name.
std::string unescaped(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '\\' || at + 1 == name.size()) {
      text += name[at];
      continue;
    }
    const char letter = name[++at];
    text += letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter;
  }
  return text;
}

// "HEX  NAME", "HEX *NAME" or "SHA256 (NAME) = HEX"; a line with nothing but a hash has no name.
std::optional<ListLine> parse_list_line(std::string_view line) {
  constexpr std::string_view tag = "SHA256 (";
  const bool is_escaped = line.starts_with('\\');
  if (is_escaped) line.remove_prefix(1);
  std::string_view digits = line.substr(0, sha256_digits);
  std::string_view name = line.substr(std::min(line.size(), sha256_digits));
  if (line.starts_with(tag)) {
    const std::size_t end = line.rfind(") = ");
    if (end == std::string_view::npos) return std::nullopt;
    digits = line.substr(end + 4);
    name = line.substr(tag.size(), end - tag.size());
  } else if (name.size() > 2 && name[0] == ' ' && (name[1] == ' ' || name[1] == '*')) {
    name.remove_prefix(2);
  } else if (!name.empty()) {
    return std::nullopt;
  }
  const auto sha256 = parse_sha256(digits);
  if (!sha256) return std::nullopt;
  return ListLine{*sha256, is_escaped ? unescaped(name) : std::string(name)};
}

// The hash that the list has for the file; a nameless one counts where the list is for one file.
std::optional<FileHash> find_in_list(const fs::path& list, const fs::path& file, bool is_for_one) {
  std::optional<FileHash> found;
  const std::string text = base::read_small_file(list);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto entry = parse_list_line(line);
    if (!entry) continue;
    const bool is_meant = entry->name.empty()
                              ? is_for_one
                              : fs::path(entry->name).lexically_normal() == file.filename();
    if (!is_meant) continue;
    if (found && found->sha256 != entry->sha256) {
      throw Error(ErrorCode::corrupt_data, "read hashes",
                  list.string() + " has two SHA-256 of " + file.filename().string() + ": " +
                      found->sha256 + " and " + entry->sha256,
                  "remove the wrong line");
    }
    found = FileHash{entry->sha256, list.filename().string()};
  }
  return found;
}

std::optional<FileHash> find_in_lists(const fs::path& file) {
  for (const char* end : {".sha256", ".sha256sum"}) {
    fs::path list = file;
    list += end;
    if (auto hash = find_in_list(list, file, true)) return hash;
  }
  for (const std::string_view name : list_names) {
    if (auto hash = find_in_list(file.parent_path() / name, file, false)) return hash;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> parse_sha256(std::string_view text) {
  constexpr std::string_view prefix = "sha256:";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  std::string digits(text);
  for (char& letter : digits) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return is_sha256(digits) ? std::optional(std::move(digits)) : std::nullopt;
}

std::optional<FileHash> find_file_hash(const ModelPart& part) {
  if (part.published_sha256) return FileHash{*part.published_sha256, "the name of its blob"};
  if (auto hash = downloaded_sha256(part.path)) {
    return FileHash{std::move(*hash), ".cache/huggingface/download"};
  }
  return find_in_lists(part.path);
}

std::string find_hash_list(const ModelPart& part) {
  try {
    const auto hash = find_in_lists(part.path);
    return hash ? hash->source : std::string();
  } catch (const Error&) {
    return {};  // whoever compares with it will see why
  }
}

}  // namespace hiptool::model
