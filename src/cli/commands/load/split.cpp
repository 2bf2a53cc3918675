// SPDX-License-Identifier: MIT
#include "cli/commands/load/split.hpp"

#include <cmath>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"

namespace hiptool::cli {
namespace {

double parse_part(std::string_view word, std::string_view text) {
  const auto part = base::parse_number<double>(word);
  if (part && std::isfinite(*part) && *part > 0) return *part;
  throw usage_error(
      "invalid --split \"" + std::string(text) + "\"",
      join_lines(
          base::suggestion(base::lower_case(std::string(text)), {"bytes", "layer", "replicate"}),
          "choose bytes, layer, replicate, or a positive number for each device, such as 3,2"));
}

}  // namespace

LoadSplit parse_split(std::string_view text) {
  if (base::equals_ignoring_case(text, "bytes")) return {SplitKind::bytes, {}};
  if (base::equals_ignoring_case(text, "layer")) return {SplitKind::layer, {}};
  if (base::equals_ignoring_case(text, "replicate")) return {SplitKind::replicate, {}};
  LoadSplit split{SplitKind::proportions, {}};
  for (const std::string& word : split_list(text, "--split")) {
    split.proportions.push_back(parse_part(word, text));
  }
  return split;
}

}  // namespace hiptool::cli
