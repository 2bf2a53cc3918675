// SPDX-License-Identifier: MIT
#include "cli/device_option.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/wrong_words.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

void refuse_names_of_others(const std::string& id) {
  const std::string hint = hint_for_device(id);
  if (hint.empty()) return;
  throw usage_error("'" + id + "' is not a device",
                    join_lines(hint, "run `hiptool devices` to see them all"));
}

// "CPU" and "NVIDIA:0" as cpu and nvidia:0; uuids and bus ids as they are.
std::string in_usual_case(const std::string& id) {
  const std::size_t end = std::min(id.find(':'), id.size());
  for (const std::string_view name : {"amd", "nvidia", "cpu", "all"}) {
    if (base::equals_ignoring_case(std::string_view(id).substr(0, end), name)) {
      return std::string(name) + id.substr(end);
    }
  }
  return id;
}

}  // namespace

std::vector<std::string> parse_device_ids(const std::vector<std::string>& texts,
                                          const std::string& what) {
  std::vector<std::string> ids;
  for (const std::string& text : texts) {
    for (const std::string& id : split_list(text, what)) {
      refuse_names_of_others(id);
      ids.push_back(in_usual_case(id));
    }
  }
  return ids;
}

Platform parse_platform(const std::string& word) {
  const std::string text = choice_of(word, {"amd", "nvidia", "cpu"}, "--platform");
  if (text == "amd") return Platform::amd;
  return text == "nvidia" ? Platform::nvidia : Platform::cpu;
}

}  // namespace hiptool::cli
