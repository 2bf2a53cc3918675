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

constexpr unsigned most_in_range = 1024;

void refuse_names_of_others(const std::string& id) {
  const std::string hint = hint_for_device(id);
  if (hint.empty()) return;
  throw usage_error("'" + id + "' is not a device",
                    join_lines(hint, "run `hiptool devices` to see them all"));
}

[[noreturn]] void refuse_range(const std::string& id) {
  throw usage_error(
      "'" + id + "' is not a range of devices",
      "write it as nvidia:0-3, for at most " + std::to_string(most_in_range) + " devices");
}

// "nvidia:0-2", as output names consecutive devices, is nvidia:0, nvidia:1 and nvidia:2.
void add_ids(const std::string& id, std::vector<std::string>& ids) {
  const std::size_t number = std::min(id.find(':'), id.size() - 1) + 1;
  const std::size_t dash = id.find('-', number);
  const std::string platform = id.substr(0, number);
  const bool names_platform = platform == "amd:" || platform == "nvidia:" || platform == "cpu:";
  if (!names_platform || dash == number || dash == std::string::npos) {
    ids.push_back(id);
    return;
  }
  const auto first = base::parse_number<unsigned>(id.substr(number, dash - number));
  const auto last = base::parse_number<unsigned>(id.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= most_in_range) refuse_range(id);
  for (unsigned i = 0; i <= *last - *first; ++i) {
    ids.push_back(platform + std::to_string(*first + i));
  }
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
    for (const std::string& part : split_list(text, what)) {
      const std::string id = part.substr(std::min(part.find_first_not_of(' '), part.size()));
      refuse_names_of_others(id);
      add_ids(in_usual_case(id), ids);
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
