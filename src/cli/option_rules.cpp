// SPDX-License-Identifier: MIT
#include "cli/option_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "cli/output/failure.hpp"

namespace hiptool::cli {
namespace {

bool has_element(std::string_view list, std::string_view element) {
  for (std::size_t start = 0;;) {
    const std::size_t comma = list.find(',', start);
    if (base::equals_ignoring_case(list.substr(start, comma - start), element)) return true;
    if (comma == std::string_view::npos) return false;
    start = comma + 1;
  }
}

bool is_given(const OptionUse& use, const std::vector<GivenOption>& given) {
  return std::any_of(given.begin(), given.end(), [&](const GivenOption& option) {
    if (option.name != use.name) return false;
    if (use.values.empty()) return true;
    return std::any_of(option.values.begin(), option.values.end(), [&](const std::string& list) {
      return std::any_of(use.values.begin(), use.values.end(),
                         [&](const std::string& value) { return has_element(list, value); });
    });
  });
}

std::string text_of(const OptionUse& use) {
  return use.values.empty() ? use.name : fmt::format("{} {}", use.name, fmt::join(use.values, "|"));
}

std::string text_of(const std::vector<OptionUse>& uses, const char* between) {
  std::vector<std::string> texts;
  for (const OptionUse& use : uses) texts.push_back(text_of(use));
  return fmt::format("{}", fmt::join(texts, between));
}

Error error_of_need(const OptionRule& rule) {
  const std::string option = text_of(rule.option);
  const std::string needed = text_of(rule.needs, " or ");
  const std::string hint = fmt::format("add {}, or leave out {}", needed, rule.option.name);
  if (rule.when.empty()) return usage_error(option + " applies only to " + needed, hint);
  // "without --stage model" says that there is a --stage.
  const bool is_of_one = rule.when.front().name == rule.needs.front().name;
  const std::string condition = is_of_one ? "" : " with " + text_of(rule.when, " and ");
  return usage_error(fmt::format("{} has no effect{} without {}", option, condition, needed), hint);
}

Error error_of_conflict(const OptionRule& rule, const OptionUse& other) {
  if (!rule.why.empty()) return usage_error(rule.why, rule.hint);
  return usage_error(fmt::format("{} has no effect with {}{}", text_of(rule.option), text_of(other),
                                 rule.when.empty() ? "" : " and " + text_of(rule.when, " and ")),
                     fmt::format("leave out {} or {}", rule.option.name, other.name));
}

}  // namespace

void check_option_rules(const std::vector<OptionRule>& rules,
                        const std::vector<GivenOption>& given) {
  const auto is = [&](const OptionUse& use) { return is_given(use, given); };
  const auto holds = [&](const OptionRule& rule) {
    return is(rule.option) && std::all_of(rule.when.begin(), rule.when.end(), is);
  };
  for (const OptionRule& rule : rules) {
    if (rule.needs.empty() || !holds(rule)) continue;
    if (std::none_of(rule.needs.begin(), rule.needs.end(), is)) throw error_of_need(rule);
  }
  for (const OptionRule& rule : rules) {
    if (rule.excludes.empty() || !holds(rule)) continue;
    const auto other = std::find_if(rule.excludes.begin(), rule.excludes.end(), is);
    if (other != rule.excludes.end()) throw error_of_conflict(rule, *other);
  }
}

}  // namespace hiptool::cli
