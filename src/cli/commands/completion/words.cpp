// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/completion/scripts.hpp"

namespace hiptool::cli {

std::string join(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> names_of(const std::vector<CommandDoc>& commands) {
  std::vector<std::string> names;
  for (const CommandDoc& command : commands) names.push_back(command.name);
  return names;
}

std::vector<OptionDoc> all_options(const CommandDoc& command) {
  std::vector<OptionDoc> options = command.options;
  options.insert(options.end(), command.common_options.begin(), command.common_options.end());
  return options;
}

std::vector<std::string> spellings_of(const OptionDoc& option) {
  std::vector<std::string> names;
  if (!option.short_name.empty()) names.push_back(option.short_name);
  if (!option.long_name.empty()) names.push_back(option.long_name);
  return names;
}

std::vector<std::string> spellings_of(const std::vector<OptionDoc>& options) {
  std::vector<std::string> names;
  for (const OptionDoc& option : options) {
    for (std::string& name : spellings_of(option)) names.push_back(std::move(name));
  }
  return names;
}

ValueDoc value_of(const OptionDoc& option) {
  using Kind = ValueDoc::Kind;
  if (option.value_name == "FORMAT=FILE") return {Kind::keyed, option.choices, false, '='};
  if (option.value_name == "I:FILE") return {Kind::keyed, {}, false, ':'};
  if (option.choices.empty()) return {Kind::none, {}, option.takes_file, 0};
  return {option.value_name == "LIST" ? Kind::list : Kind::words, option.choices, option.takes_file,
          0};
}

ValueDoc value_of(const ArgumentDoc& argument) {
  const auto kind = argument.choices.empty() ? ValueDoc::Kind::none : ValueDoc::Kind::words;
  return {kind, argument.choices, argument.takes_file, 0};
}

}  // namespace hiptool::cli
