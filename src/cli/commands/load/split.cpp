// SPDX-License-Identifier: MIT
#include "cli/commands/load/split.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

#include "cli/options.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorCode::invalid_argument, "parse options",
              "invalid --split \"" + std::string(text) + "\"",
              "choose bytes, layer, replicate, or a positive number for each device, such as 3,2");
}

double parse_part(std::string_view word, std::string_view text) {
  double part = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), part);
  const bool is_number = error == std::errc{} && end == word.data() + word.size();
  if (!is_number || !std::isfinite(part) || part <= 0) refuse(text);
  return part;
}

}  // namespace

LoadSplit parse_split(std::string_view text) {
  if (text == "bytes") return {SplitKind::bytes, {}};
  if (text == "layer") return {SplitKind::layer, {}};
  if (text == "replicate") return {SplitKind::replicate, {}};
  LoadSplit split{SplitKind::proportions, {}};
  for (const std::string& word : split_list(text, "--split")) {
    split.proportions.push_back(parse_part(word, text));
  }
  return split;
}

std::string_view to_string(SplitKind split) noexcept {
  switch (split) {
    case SplitKind::bytes: return "bytes";
    case SplitKind::layer: return "layer";
    case SplitKind::proportions: return "proportions";
    case SplitKind::replicate: return "replicate";
  }
  return "bytes";
}

}  // namespace hiptool::cli
