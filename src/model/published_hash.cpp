// SPDX-License-Identifier: MIT
#include "model/published_hash.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/parts.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sha256_digits = 64;
// In the folders above the file; in its own folder also other names, see is_list_name().
constexpr std::array<std::string_view, 4> list_names{"SHA256SUMS", "SHA256SUMS.txt",
                                                     "sha256sums.txt", "sha256sum.txt"};
constexpr std::uint64_t most_list_bytes = std::uint64_t{64} << 20;

struct ListLine {
  std::string sha256;
  std::vector<std::string> names;  // that the line may mean; none: a line with nothing but a hash
};

/// A list, and the file as the list would name it: "m.gguf", "sub/m.gguf".
struct List {
  fs::path path;
  std::string file;
  bool is_for_one = false;  ///< its name says which file it is for
};

/// What was found for one file.
struct Search {
  std::vector<FileHash> hashes;
  std::vector<fs::path> lists_with;  // also that which could not be read
  std::vector<std::string> lists_without;
  std::optional<Error> unreadable;
  std::string unreadable_list;
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

constexpr std::string_view blanks = " \t";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
}

bool take(std::string_view& text, std::string_view start) {
  if (!base::equals_ignoring_case(text.substr(0, start.size()), start)) return false;
  text.remove_prefix(start.size());
  return true;
}

std::string_view without_end_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// "(NAME) = HEX" after "SHA256": sha256sum --tag and BSD; OpenSSL leaves out blanks.
std::optional<ListLine> parse_tagged(std::string_view rest) {
  const std::size_t end = rest.rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view name = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  skip_blanks(rest);
  if (!take(rest, "=")) return std::nullopt;
  skip_blanks(rest);
  const auto sha256 = parse_sha256(without_end_blanks(rest));
  return sha256 ? std::optional(ListLine{*sha256, {std::string(name)}}) : std::nullopt;
}

// "HEX  NAME" (text), "HEX *NAME" (binary), and with one blank "HEX NAME", as sha256sum reads them.
// Columns of other programs have more blanks, so the name without any counts, too.
std::optional<ListLine> parse_columns(std::string_view line) {
  take(line, "sha256:");
  const auto sha256 = parse_sha256(line.substr(0, sha256_digits));
  if (!sha256) return std::nullopt;
  line.remove_prefix(sha256_digits);
  if (without_end_blanks(line).empty()) return ListLine{*sha256, {}};
  if (blanks.find(line.front()) == std::string_view::npos) return std::nullopt;
  line.remove_prefix(1);
  if (line.front() == ' ' || line.front() == '*') line.remove_prefix(1);
  ListLine found{*sha256, {std::string(line)}};
  skip_blanks(line);
  found.names.emplace_back(without_end_blanks(line));
  return found;
}

// "SHA256  HEX  C:\models\m.gguf" of Get-FileHash, whose paths are absolute. (A manifest of
// llama-gguf-hash has "sha256", and its hashes are not of files.)
std::optional<ListLine> parse_get_file_hash(std::string_view line) {
  skip_blanks(line);
  auto found = parse_columns(line);
  if (!found || found->names.empty()) return std::nullopt;
  const std::string path = found->names.back();
  const std::size_t slash = path.rfind('\\');
  if (slash == std::string::npos) return std::nullopt;
  found->names = {path.substr(slash + 1)};
  return found;
}

std::optional<ListLine> parse_list_line(std::string_view line) {
  skip_blanks(line);
  const bool is_escaped = line.starts_with('\\');
  if (is_escaped) line.remove_prefix(1);
  std::string_view rest = line;
  std::optional<ListLine> found;
  if (take(rest, "SHA256") || take(rest, "SHA2-256")) {
    const bool has_blank = !rest.empty() && blanks.find(rest.front()) != std::string_view::npos;
    skip_blanks(rest);
    if (rest.starts_with('(')) {
      found = parse_tagged(rest);
    } else if (has_blank && line.starts_with("SHA256")) {
      found = parse_get_file_hash(rest);
    }
  }
  if (!found) found = parse_columns(line);
  if (found && is_escaped) {
    for (std::string& name : found->names) name = unescaped(name);
  }
  return found;
}

constexpr std::array<bool, 256> hexadecimal_digits = [] {
  std::array<bool, 256> digits{};
  for (const char digit : std::string_view("0123456789abcdefABCDEF")) {
    digits[static_cast<unsigned char>(digit)] = true;
  }
  return digits;
}();

// The only SHA-256 in a line, and where it begins.
std::optional<std::pair<std::string, std::size_t>> only_sha256_in(std::string_view line) {
  std::optional<std::pair<std::string, std::size_t>> found;
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::size_t end = at;
    while (end < line.size() && hexadecimal_digits[static_cast<unsigned char>(line[end])]) ++end;
    if (end - at == sha256_digits) {
      if (found) return std::nullopt;
      found.emplace(*parse_sha256(line.substr(at, sha256_digits)), at);
    }
    at = end;
  }
  return found;
}

// "NAME  HEX" and "NAME: HEX", which no program checks and some publish, a row of a table and a
// member of a JSON object on a line of its own.
std::optional<ListLine> parse_reversed(std::string_view line) {
  constexpr std::string_view marks = " \t\r|,:;=\"'`{}";
  const auto sha256 = only_sha256_in(line);
  if (!sha256) return std::nullopt;
  const std::string_view rest = line.substr(sha256->second + sha256_digits);
  std::string_view name = line.substr(0, sha256->second);
  const bool is_separate = !name.empty() && marks.find(name.back()) != std::string_view::npos;
  if (!is_separate || rest.find_first_not_of(marks) != std::string_view::npos) return std::nullopt;
  name.remove_prefix(std::min(name.find_first_not_of(marks), name.size()));
  name = name.substr(0, name.find_last_not_of(marks) + 1);
  return name.empty() ? std::nullopt : std::optional(ListLine{sha256->first, {std::string(name)}});
}

// A manifest of llama-gguf-hash, whose hashes are of tensors.
bool is_of_tensors(std::string_view line) {
  constexpr std::string_view word = "sha256";
  skip_blanks(line);
  return line.starts_with(word) && line.size() > word.size() &&
         blanks.find(line[word.size()]) != std::string_view::npos;
}

// A name that says nothing: of a pipe, one that Get-FileHash cut for its table, or a word such
// as "Hash" in front.
bool is_unnamed(const ListLine& line, bool is_reversed) {
  return std::ranges::all_of(line.names, [is_reversed](std::string_view name) {
    const bool is_word = is_reversed && name.find_first_of("./\\") == std::string_view::npos;
    return is_word || name == "-" || name.ends_with("...") || name.ends_with("\u2026");
  });
}

bool means(const ListLine& line, const List& list) {
  if (line.names.empty()) return list.is_for_one;
  return std::ranges::any_of(line.names, [&list](const std::string& name) {
    const fs::path path = fs::path(name).lexically_normal();
    // A list of its own may have been made in another folder, or by Windows.
    const std::string_view last = std::string_view(name).substr(name.find_last_of("/\\") + 1);
    if (list.is_for_one && last == list.file) return true;
    return path == list.file || (path.is_absolute() && path == list.path.parent_path() / list.file);
  });
}

// The hash that the list has for its file.
std::optional<FileHash> find_in_list(const List& list) {
  std::optional<FileHash> found;
  std::optional<std::string> unnamed;  // in a list for this file alone
  bool has_several_unnamed = false;
  const std::string text = base::read_input_file(list.path, most_list_bytes);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto entry = parse_list_line(line);
    const bool is_reversed = !entry && !is_of_tensors(line);
    if (is_reversed) entry = parse_reversed(line);
    if (!entry || !means(*entry, list)) {
      if (!list.is_for_one || is_of_tensors(line)) continue;
      const auto hash = only_sha256_in(line);
      if (!hash || (entry && !is_unnamed(*entry, is_reversed))) continue;
      has_several_unnamed = has_several_unnamed || (unnamed && *unnamed != hash->first);
      unnamed = hash->first;
      continue;
    }
    if (found && found->sha256 != entry->sha256) {
      throw Error(ErrorCode::corrupt_data, "read hashes",
                  list.path.string() + " has two SHA-256 of " + list.file + ": " + found->sha256 +
                      " and " + entry->sha256,
                  "remove the wrong line");
    }
    found = FileHash{entry->sha256, list.path.filename().string()};
  }
  if (!found && unnamed && !has_several_unnamed) {
    found = FileHash{*unnamed, list.path.filename().string()};
  }
  return found;
}

// Names that people and publishers give to lists, whatever their case.
bool is_list_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> names{
      "sha256sums", "sha256sum",    "sha256sums.txt", "sha256sum.txt",  "sha256.txt",
      "checksums",  "checksum.txt", "checksums.txt",  "shasums256.txt",
  };
  constexpr std::array<std::string_view, 4> ends{".sha256", ".sha256sum", ".sha256sums",
                                                 ".sha256.txt"};
  const auto ends_so = [name](std::string_view end) {
    return name.size() > end.size() &&
           base::equals_ignoring_case(name.substr(name.size() - end.size()), end);
  };
  return std::ranges::any_of(
             names,
             [name](std::string_view one) { return base::equals_ignoring_case(name, one); }) ||
         std::ranges::any_of(ends, ends_so);
}

// FILE.sha256 first, which is for that file alone.
std::vector<List> lists_for(const fs::path& file) {
  constexpr int most_above = 3;
  std::error_code ignored;
  const fs::path whole = fs::absolute(file, ignored).lexically_normal();
  const std::string name = whole.filename().string();
  std::vector<List> lists;
  for (const fs::path& path : base::list_folder(whole.parent_path())) {
    const std::string other = path.filename().string();
    if (!is_list_name(other) || !fs::is_regular_file(path, ignored)) continue;
    const bool is_for_one = base::equals_ignoring_case(other, name + ".sha256") ||
                            base::equals_ignoring_case(other, name + ".sha256.txt") ||
                            base::equals_ignoring_case(other, name + ".sha256sum");
    lists.insert(is_for_one ? lists.begin() : lists.end(), {path, name, is_for_one});
  }
  fs::path folder = whole.parent_path();
  for (int above = 0; above < most_above && folder.has_relative_path(); ++above) {
    folder = folder.parent_path();
    for (const std::string_view other : list_names) {
      if (!fs::is_regular_file(folder / other, ignored)) continue;
      lists.push_back({folder / other, whole.lexically_relative(folder).string(), false});
    }
  }
  return lists;
}

// Notes the first problem, so that the lists after it count, too.
void search_list(const List& list, Search& search) {
  const std::string name = list.path.filename().string();
  try {
    if (auto hash = find_in_list(list)) {
      search.hashes.push_back(std::move(*hash));
      search.lists_with.push_back(list.path);
    } else {
      search.lists_without.push_back(name);
    }
  } catch (const Error& error) {
    search.lists_with.push_back(list.path);
    if (search.unreadable) return;
    search.unreadable = error;
    search.unreadable_list = name;
  }
}

Search search_hashes(const ModelPart& part) {
  Search search;
  if (part.published_sha256) {
    search.hashes.push_back({*part.published_sha256, "the name of its blob"});
  }
  if (auto hash = downloaded_sha256(part.path)) {
    search.hashes.push_back({std::move(*hash), ".cache/huggingface/download"});
  }
  for (const List& list : lists_for(part.path)) search_list(list, search);
  return search;
}

[[noreturn]] void refuse_difference(const ModelPart& part, const FileHash& one,
                                    const FileHash& other, std::string hint) {
  throw Error(ErrorCode::corrupt_data, "read hashes",
              "two different SHA-256 of " + part.path.string() + ": " + one.source + " has " +
                  one.sha256 + ", " + other.source + " has " + other.sha256,
              std::move(hint));
}

}  // namespace

std::optional<std::string> parse_sha256(std::string_view text) {
  constexpr std::string_view prefix = "sha256:";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (text.size() != sha256_digits) return std::nullopt;
  std::string digits(text);
  for (char& letter : digits) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return is_sha256(digits) ? std::optional(std::move(digits)) : std::nullopt;
}

std::optional<FileHash> find_file_hash(const ModelPart& part) {
  const Search search = search_hashes(part);
  if (search.unreadable) throw Error(*search.unreadable);
  for (const FileHash& hash : search.hashes) {
    if (hash.sha256 == search.hashes.front().sha256) continue;
    refuse_difference(part, search.hashes.front(), hash,
                      "find out which is right, and remove the wrong one");
  }
  return search.hashes.empty() ? std::nullopt : std::optional(search.hashes.front());
}

std::string find_hash_source(const ModelPart& part) {
  const Search search = search_hashes(part);
  return search.hashes.empty() ? search.unreadable_list : search.hashes.front().source;
}

void check_given_hash(const ModelPart& part, const std::string& sha256) {
  for (const FileHash& hash : search_hashes(part).hashes) {
    if (hash.sha256 == sha256) continue;
    refuse_difference(part, {sha256, "the given one"}, hash,
                      "find out which is right; correct the list or leave out --sha256");
  }
}

std::vector<fs::path> lists_with(const ModelPart& part) { return search_hashes(part).lists_with; }

std::vector<std::string> lists_without(const ModelPart& part) {
  return search_hashes(part).lists_without;
}

}  // namespace hiptool::model
