// SPDX-License-Identifier: MIT
#include "cli/value_words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

struct ValuePlace {
  std::string option;  ///< "--kind"; empty: an argument
  std::string value;   ///< as it is declared
};

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : "--" + option.get_lnames().front();
}

// The values of an option, and the words that complete it.
std::vector<std::string> words_of_option(CLI::Option& option, const Command* command) {
  std::vector<std::string> values = help_of(option).values;
  if (command == nullptr || command->completion_words == nullptr) return values;
  for (const CompletionWords& of : command->completion_words()) {
    if (of.name != name_of(option)) continue;
    values.insert(values.end(), of.words.begin(), of.words.end());
  }
  return values;
}

// An argument before an option, for it is the shorter way.
std::optional<ValuePlace> place_of(CLI::App& app, std::string_view word) {
  const Command* const command = find_command(app.get_name());
  std::optional<ValuePlace> place;
  for (CLI::Option* option : app.get_options()) {
    const bool is_argument = option->get_lnames().empty();
    if (!is_argument && place) continue;
    for (const std::string& value : words_of_option(*option, command)) {
      if (!base::equals_ignoring_case(value, word)) continue;
      place = ValuePlace{is_argument ? "" : name_of(*option), value};
      if (is_argument) return place;
      break;
    }
  }
  return place;
}

std::string suggest_place(const std::string& command, const ValuePlace& place) {
  return place.option.empty() ? fmt::format("did you mean 'hiptool {} {}'?", command, place.value)
                              : fmt::format("did you mean '{} {}'?", place.option, place.value);
}

bool names_command(const std::string& text, const std::string& name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz-";
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || letters.find(text[at - 1]) == std::string_view::npos;
    const bool ends = end == text.size() || letters.find(text[end]) == std::string_view::npos;
    if (starts && ends) return true;
  }
  return false;
}

}  // namespace

std::string hint_for_value(CLI::App& app, std::string_view word) {
  const auto place = place_of(app, word);
  return place ? suggest_place(app.get_name(), *place) : std::string();
}

std::string hint_for_value_of_any(CLI::App& root, std::string_view word) {
  std::vector<std::string> options;
  std::string value;
  for (const Command& command : commands()) {
    const auto place = place_of(*root.get_subcommand(command.name), word);
    if (!place) continue;
    if (place->option.empty()) return suggest_place(command.name, *place);
    value = place->value;
    options.push_back(command.name + " " + place->option);
  }
  if (options.empty()) return hint_for_value(root, word);
  return fmt::format("'{}' is a value of {}", value, report::and_list(options));
}

std::string help_named_in(const std::string& hint) {
  std::string text;
  for (const Command& command : commands()) {
    if (!names_command(hint, command.name)) continue;
    text += fmt::format("{}'hiptool help {}'", text.empty() ? "see " : " or ", command.name);
  }
  return text.empty() ? "see 'hiptool help'" : text;
}

}  // namespace hiptool::cli
