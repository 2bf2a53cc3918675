// SPDX-License-Identifier: MIT
#include "cli/early_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "cli/command.hpp"

namespace hiptool::cli {
namespace {

constexpr std::array<std::string_view, 6> names_with_value{"--format", "--export",   "--device",
                                                           "-d",       "--platform", "--color"};

bool takes_value(std::string_view name) {
  return std::find(names_with_value.begin(), names_with_value.end(), name) !=
         names_with_value.end();
}

}  // namespace

EarlyOptions read_early_options(int argc, const char* const* argv,
                                const GetEnvironment& environment) {
  EarlyOptions result;
  result.wants_json =
      base::equals_ignoring_case(environment("HIPTOOL_FORMAT").value_or(""), "json");
  const Command* command = nullptr;
  const auto read_option = [&](std::string_view name, std::string_view value) {
    const bool is_output_format = command == nullptr || !command->has_own_format;
    if (name == "--format" && is_output_format)
      result.wants_json = base::equals_ignoring_case(value, "json");
    if (name != "--color") return;
    if (base::equals_ignoring_case(value, "always")) result.color = ColorMode::always;
    if (base::equals_ignoring_case(value, "never")) result.color = ColorMode::never;
    if (base::equals_ignoring_case(value, "auto")) result.color = ColorMode::automatic;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    const auto equals = word.find('=');
    if (word.starts_with("--") && equals != std::string_view::npos) {
      read_option(word.substr(0, equals), word.substr(equals + 1));
    } else if (takes_value(word)) {
      if (i + 1 < argc) read_option(word, argv[++i]);
    } else if (command == nullptr && !word.starts_with('-')) {
      command = find_command(word);
      if (command != nullptr) result.command = command->name;
    }
  }
  return result;
}

}  // namespace hiptool::cli
