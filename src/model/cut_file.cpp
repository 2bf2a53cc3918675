// SPDX-License-Identifier: MIT
#include "model/cut_file.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/checked.hpp"
#include "model/gguf.hpp"
#include "model/text.hpp"
#include "model/unfinished.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

bool is_digit_letter(char letter) { return letter >= '0' && letter <= '9'; }

bool is_latin(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

// Removes that start, whatever its case.
bool take_start(std::string_view& text, std::string_view start) {
  if (!base::equals_ignoring_case(text.substr(0, start.size()), start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool take_separator(std::string_view& text) {
  const bool has_one =
      !text.empty() && std::string_view("-_.").find(text.front()) != std::string_view::npos;
  if (has_one) text.remove_prefix(1);
  return has_one;
}

template <typename IsIncluded>
std::string take_while(std::string_view& text, IsIncluded is_included) {
  const auto end = std::ranges::find_if_not(text, is_included);
  std::string taken(text.begin(), end);
  text.remove_prefix(taken.size());
  return taken;
}

// The end of the extension of a model file, from which on a piece's name goes on.
std::size_t end_of_model_name(std::string_view name) {
  std::size_t end = 0;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    for (const std::string_view extension : {".gguf", ".safetensors"}) {
      if (dot > 0 && base::equals_ignoring_case(name.substr(dot, extension.size()), extension)) {
        end = dot + extension.size();
      }
    }
  }
  return end;
}

// "1of2" or "a" after "part" and the like, or what `split` and archivers append.
bool parse_piece_label(std::string_view text, PieceName& piece) {
  const bool has_word = take_start(text, "part") || take_start(text, "split") ||
                        take_start(text, "chunk") || take_start(text, "piece");
  const bool has_separator = has_word && take_separator(text);
  piece.label = take_while(text, is_digit_letter);
  if (piece.label.empty()) {
    piece.label = take_while(text, is_latin);
    const std::size_t letters = piece.label.size();
    if (!text.empty() || letters == 0) return false;
    if (has_separator) return letters < 4;
    // `split` appends two letters: one or three continue the word (.parts, .partial), and without a
    // word only those that it begins with are no extension (.gz, .md).
    return letters == 2 && (has_word || piece.label.front() == 'a');
  }
  constexpr std::size_t most_digits = 5;
  if (piece.label.size() > most_digits) return false;
  if (text.empty()) return has_word || piece.label.size() > 1;
  take_separator(text);
  if (!take_start(text, "of")) return false;
  take_separator(text);
  const std::string total = take_while(text, is_digit_letter);
  if (!text.empty() || total.empty() || total.size() > most_digits) return false;
  piece.total = *base::parse_number<std::size_t>(total);
  return true;
}

// Numbers by their value, letters as `split` counts.
bool is_before(const PieceName& left, const PieceName& right) {
  const auto key = [](const PieceName& piece) {
    const std::size_t digits = std::min(piece.label.find_first_not_of('0'), piece.label.size());
    return std::pair(piece.label.size() - digits, piece.label.substr(digits));
  };
  return key(left) < key(right);
}

}  // namespace

std::optional<PieceName> parse_piece_name(std::string_view file_name) {
  const std::size_t end = end_of_model_name(file_name);
  if (end == 0 || end == file_name.size() || has_unfinished_name(file_name)) return std::nullopt;
  std::string_view rest = file_name.substr(end);
  PieceName piece;
  piece.whole = file_name.substr(0, end);
  take_separator(rest);
  return parse_piece_label(rest, piece) ? std::optional(std::move(piece)) : std::nullopt;
}

std::vector<std::string> pieces_of(const fs::path& folder, const std::string& whole) {
  std::vector<std::pair<PieceName, std::string>> found;
  for (const fs::path& path : base::list_folder(folder.empty() ? "." : folder)) {
    std::string name = path.filename().string();
    auto piece = parse_piece_name(name);
    if (piece && piece->whole == whole) found.emplace_back(std::move(*piece), std::move(name));
  }
  std::ranges::stable_sort(found, [](const auto& left, const auto& right) {
    return is_before(left.first, right.first);
  });
  std::vector<std::string> names;
  for (auto& [piece, name] : found) names.push_back(std::move(name));
  return names;
}

void refuse_piece(const fs::path& path, const fs::path& folder, const PieceName& piece) {
  constexpr std::size_t most_listed = 20;
  const std::vector<std::string> names = pieces_of(folder, piece.whole);
  if (names.size() < 2 && piece.total == 0) return;
  const fs::path whole = folder / piece.whole;
  std::string message = "cannot open " + path.string() + ": ";
  message += path == folder ? "the folder holds pieces" : "it is piece " + in_quotes(piece.label);
  message += " of " + in_quotes(piece.whole) + ", which was cut into ";
  message += piece.total > 0 ? std::to_string(piece.total) + " pieces" : "pieces";
  std::string hint;
  if (base::is_there(whole)) {
    hint = "name " + whole.string() + ", which is next to its pieces";
  } else {
    if (piece.total > names.size()) {
      message += ", of which " + std::to_string(piece.total - names.size()) +
                 (piece.total - names.size() == 1 ? " is" : " are") + " missing";
      hint = "download all pieces, then ";
    }
    hint += "join them: `cat";
    for (std::size_t i = 0; i < names.size() && i < most_listed; ++i) {
      hint += " " + base::quoted_for_shell((folder / names[i]).string());
    }
    if (names.size() > most_listed) hint += " ...";
    hint += " > " + base::quoted_for_shell(whole.string()) + "`";
  }
  throw Error(ErrorCode::input_failed, "open", message, hint);
}

std::optional<std::uint64_t> gguf_behind(const base::File& file, std::uint64_t end,
                                         std::uint64_t alignment) {
  for (const auto& at : {std::optional(end), checked_align(end, alignment)}) {
    std::array<char, gguf_magic.size()> magic{};
    if (!at || *at > file.size_bytes() || file.size_bytes() - *at < magic.size()) continue;
    file.read_at(std::as_writable_bytes(std::span(magic)), *at);
    if (std::string_view(magic.data(), magic.size()) == gguf_magic) return at;
  }
  return std::nullopt;
}

void refuse_joined(const fs::path& path, std::uint64_t first_bytes,
                   const Diagnostics& diagnostics) {
  const std::string name = base::quoted_for_shell(path.string());
  diagnostics.unreadable_kind(
      {},
      "the file is several files that were joined by `cat`, which does not make one model of them; "
      "the first ends at byte " +
          std::to_string(first_bytes),
      "load the separate files; without them, cut off the first with `head -c " +
          std::to_string(first_bytes) + " " + name + "` and the others with `tail -c +" +
          std::to_string(first_bytes + 1) + " " + name + "`");
}

}  // namespace hiptool::model
