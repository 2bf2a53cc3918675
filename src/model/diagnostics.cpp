// SPDX-License-Identifier: MIT
#include "model/diagnostics.hpp"

#include <utility>

#include "model/text.hpp"
#include "model/unfinished.hpp"

namespace hiptool::model {
namespace {

std::string unfinished_hint(const std::filesystem::path& path) {
  if (has_unfinished_name(path)) {
    return "finish the download: the file's name marks an unfinished one";
  }
  if (const auto other = unfinished_beside(path)) {
    return "finish the download: " + other->filename().string() +
           " next to the file marks an unfinished one";
  }
  return "compare the file's size with the publisher's and download it again";
}

}  // namespace

std::string Diagnostics::sentence(const Place& place, std::string_view cause) const {
  std::string text = path_.string() + ": ";
  if (!place.kind.empty()) {
    text += place.kind;
    if (!place.name.empty()) {
      text += " " + in_quotes(place.name);
    } else if (place.number > 0) {
      text += " " + std::to_string(place.number);
    }
    text.append(" at ").append(offset_name_).append(" ");
    text += std::to_string(place.offset) + ": ";
  }
  return text.append(cause);
}

void Diagnostics::corrupt(const Place& place, std::string_view cause, std::string_view hint) const {
  if (hint.empty()) hint = "compare the file's hash with the publisher's and download it again";
  throw Error(ErrorCode::corrupt_data, "parse", sentence(place, cause), std::string(hint));
}

void Diagnostics::truncated(const Place& place, std::string_view cause) const {
  corrupt(place,
          std::string(cause) + "; the file is truncated, damaged or its download is incomplete",
          unfinished_hint(path_));
}

void Diagnostics::unreadable_kind(const Place& place, std::string_view cause,
                                  std::string_view hint) const {
  throw Error(ErrorCode::input_failed, "parse", sentence(place, cause), std::string(hint));
}

void Diagnostics::warn(std::string_view rule, const Place& place, std::string_view cause) {
  if (strict_) {
    corrupt(place, std::string(cause) + " (refused by --strict)",
            "load it without --strict if you trust its origin");
  }
  for (Warning& warning : warnings_) {
    if (warning.rule == rule) {
      ++warning.others;
      return;
    }
  }
  warnings_.push_back({rule, sentence(place, cause)});
}

void Diagnostics::note(std::string_view cause) { warnings_.push_back({{}, sentence({}, cause)}); }

std::vector<std::string> Diagnostics::take_warnings() {
  std::vector<std::string> texts;
  for (Warning& warning : warnings_) {
    if (warning.others > 0) {
      warning.text += " (and " + std::to_string(warning.others) + " more like it)";
    }
    texts.push_back(std::move(warning.text));
  }
  warnings_.clear();
  return texts;
}

std::string ignored_file(const std::filesystem::path& path, std::string_view message) {
  const std::string prefix = path.string() + ": ";
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  return path.string() + " is ignored: " + std::string(message);
}

}  // namespace hiptool::model
