// SPDX-License-Identifier: MIT
#include "cli/first_look.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/command_list.hpp"

namespace hiptool::cli {
namespace {

constexpr std::array<std::string_view, 6> names_with_value{"--format", "--export",   "--device",
                                                           "-d",       "--platform", "--color"};

bool takes_value(std::string_view name) {
  return std::find(names_with_value.begin(), names_with_value.end(), name) !=
         names_with_value.end();
}

class Look {
 public:
  explicit Look(FirstLook& result) : result_(result) {}

  void option(std::string_view name, std::string_view value) {
    const bool is_output_format = command_ == nullptr || !command_->has_own_format;
    if (name == "--format" && is_output_format) result_.wants_json = value == "json";
    if (name != "--color") return;
    if (value == "always") result_.color = ColorMode::always;
    if (value == "never") result_.color = ColorMode::never;
    if (value == "auto") result_.color = ColorMode::automatic;
  }

  void word(std::string_view text) {
    if (command_ != nullptr) return;
    command_ = find_command(text);
    if (command_ != nullptr) result_.command = command_->name;
  }

 private:
  FirstLook& result_;
  const Command* command_ = nullptr;
};

}  // namespace

FirstLook look_at_words(int argc, const char* const* argv, const GetEnvironment& environment) {
  FirstLook result;
  result.wants_json = environment("HIPTOOL_FORMAT").value_or("") == "json";
  Look look(result);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    const auto equals = word.find('=');
    if (word.substr(0, 2) == "--" && equals != std::string_view::npos) {
      look.option(word.substr(0, equals), word.substr(equals + 1));
    } else if (takes_value(word)) {
      if (i + 1 < argc) look.option(word, argv[++i]);
    } else if (word.empty() || word.front() != '-') {
      look.word(word);
    }
  }
  return result;
}

}  // namespace hiptool::cli
