// SPDX-License-Identifier: MIT
#include "machine/vendor_tools.hpp"

#include <algorithm>
#include <string_view>

#include "base/contains.hpp"
#include "system/pci.hpp"

namespace hiptool::machine {
namespace {

constexpr std::string_view unknown_gpu = "GPU";

/// A fix without the ids of the GPUs that it selects.
struct SplitFix {
  std::string text;                 ///< with nothing after each " -i " and " -g "
  std::vector<std::size_t> places;  ///< in the text, where the ids belong
  std::vector<std::string> ids;     ///< each once
};

bool is_gpu_id(std::string_view word) {
  return word.starts_with("GPU-") || !system::normalize_bus_id(word).empty();
}

/// Where " -i " or " -g " ends at or after `from`, or npos.
std::size_t end_of_selection(std::string_view fix, std::size_t from) {
  const std::size_t at = std::min(fix.find(" -i ", from), fix.find(" -g ", from));
  return at == std::string_view::npos ? at : at + 4;
}

SplitFix split_fix(std::string_view fix) {
  SplitFix split;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = end_of_selection(fix, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(fix.find_first_of(" `", at), fix.size());
    const std::string_view id = fix.substr(at, end - at);
    if (!is_gpu_id(id)) continue;
    split.text += fix.substr(done, at - done);
    split.places.push_back(split.text.size());
    base::add_once(split.ids, std::string(id));
    done = end;
    at = end;
  }
  split.text += fix.substr(done);
  return split;
}

std::string joined_text(const SplitFix& split) {
  std::string text = split.text;
  for (auto place = split.places.rbegin(); place != split.places.rend(); ++place) {
    // nvidia-smi takes ids with commas between them, amd-smi with blanks.
    const char* const between = text[*place - 2] == 'i' ? "," : " ";
    std::string ids;
    for (const std::string& id : split.ids) ids += (ids.empty() ? "" : between) + id;
    text.insert(*place, ids);
  }
  return text;
}

}  // namespace

std::string selection_for_tool(Platform platform, const std::string& id) {
  return std::string(platform == Platform::amd ? " -g " : " -i ")
      .append(id.empty() ? unknown_gpu : id);
}

std::vector<std::string> joined_fixes(const std::vector<std::string>& fixes) {
  std::vector<SplitFix> different;
  for (const std::string& fix : fixes) {
    SplitFix split = split_fix(fix);
    const auto same = std::ranges::find_if(different, [&split](const SplitFix& one) {
      return one.text == split.text && one.places == split.places;
    });
    if (same == different.end()) {
      different.push_back(std::move(split));
    } else {
      for (std::string& id : split.ids) base::add_once(same->ids, std::move(id));
    }
  }
  std::vector<std::string> joined;
  for (const SplitFix& split : different) joined.push_back(joined_text(split));
  return joined;
}

}  // namespace hiptool::machine
