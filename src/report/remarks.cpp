// SPDX-License-Identifier: MIT
#include "report/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>

#include "base/text.hpp"

namespace hiptool::report {
namespace {

bool is_figure(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

// The text with '#' in place of each number, its decimals and the prefix of its unit.
std::string without_figures(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_figure(text[i])) {
      kept += text[i++];
      continue;
    }
    const auto is_in_number = [&] {
      const bool is_point = text[i] == '.' || text[i] == ',' || text[i] == ' ';
      return is_figure(text[i]) || (is_point && i + 1 < text.size() && is_figure(text[i + 1]));
    };
    while (i < text.size() && is_in_number()) ++i;
    kept += '#';
    // "1.02 ms" and "980 us", "2.00 MiB" and "512 KiB".
    constexpr std::string_view prefixes = "numkKMGT";
    const std::size_t unit = i + 1;
    const bool has_prefix =
        unit + 1 < text.size() && text[i] == ' ' &&
        prefixes.find(text[unit]) != std::string_view::npos &&
        std::string_view("sBibF").find(text[unit + 1]) != std::string_view::npos;
    if (!has_prefix) continue;
    kept += ' ';
    i = unit + 1;
  }
  return kept;
}

struct RemarkGroup {
  const Remark* first = nullptr;
  std::size_t count = 0;
  bool is_equal = true;  // in figures too
  std::vector<std::string> devices;
};

Line line_of(const RemarkGroup& group) {
  const Remark& first = *group.first;
  const std::size_t more = group.count - 1;
  std::string text = first.lead + first.subject;
  if (more > 0 && group.is_equal) text += fmt::format(" and {} more", more);
  text += ": " + first.text;
  if (more > 0 && !group.is_equal) text += fmt::format("; alike in {} more", more);
  if (more > 0 && group.devices.size() > 1) {
    text += fmt::format(" (on {})", base::ranges_of(group.devices));
  }
  return {first.tone, std::move(text)};
}

}  // namespace

Remark remark_of(const Measurement& measured, Tone tone, std::string lead, std::string text) {
  return {tone, std::move(lead), measured.id, measured.devices, std::move(text)};
}

void add_share_remark(const Measurement& measured, std::vector<Remark>& remarks) {
  if (measured.share_reason.empty()) return;
  const bool is_above_one = measured.share_of_limit && *measured.share_of_limit > 1;
  if (!is_above_one && !measured.is_above_limit) return;
  remarks.push_back(
      remark_of(measured, Tone::plain,
                is_above_one ? "share above 1: " : "no share: ", measured.share_reason));
}

std::vector<Line> lines_of(const std::vector<Remark>& remarks) {
  std::vector<RemarkGroup> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const Remark& remark : remarks) {
    const std::string cause = remark.lead + '\n' + without_figures(remark.text);
    const auto [place, is_new] = places.emplace(cause, groups.size());
    if (is_new) groups.push_back({&remark, 0, true, {}});
    RemarkGroup& group = groups[place->second];
    ++group.count;
    group.is_equal = group.is_equal && remark.text == group.first->text;
    for (const std::string& device : remark.devices) {
      if (std::ranges::find(group.devices, device) == group.devices.end()) {
        group.devices.push_back(device);
      }
    }
  }
  std::vector<Line> lines;
  for (const RemarkGroup& group : groups) lines.push_back(line_of(group));
  return lines;
}

}  // namespace hiptool::report
