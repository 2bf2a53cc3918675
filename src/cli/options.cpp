// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

const std::string values_mark = "values ";

// Messages use the first long name; further ones are old spellings, which are not shown.
std::string long_name(const std::string& names) {
  const auto dashes = names.find("--");
  if (dashes == std::string::npos) return names;
  return names.substr(dashes, names.find(',', dashes) - dashes);
}

// CLI11 keeps one text: the parts of the help on lines of it.
std::string description_of(const OptionHelp& help) {
  return help.summary + "\n" + help.details + "\n" + help.usual;
}

// Every option and argument that takes a value is declared through this: an empty one would mean
// "not given" to the command, which then leaves undone what was asked for. An inactive validator
// in the first place carries the accepted words.
CLI::Option* with_value(CLI::Option* option, const std::string& names, const OptionHelp& help) {
  option->description(description_of(help));
  const std::string words = values_mark + fmt::format("{}", fmt::join(help.values, " "));
  option->check(CLI::Validator().name(words).active(false));
  const auto refuse = [name = long_name(names)](const std::string& text) {
    refuse_empty(text, name);
    return std::string();
  };
  return option->check(CLI::Validator(refuse, ""));
}

std::vector<std::string> values_of(CLI::Option& option) {
  std::vector<std::string> values;
  const CLI::Validator* mark = nullptr;
  try {
    mark = option.get_validator(0);
  } catch (const CLI::OptionNotFound&) {
    return values;  // a flag
  }
  if (mark->get_name().rfind(values_mark, 0) != 0) return values;
  std::istringstream words(mark->get_name().substr(values_mark.size()));
  for (std::string word; words >> word;) values.push_back(word);
  return values;
}

}  // namespace

OptionHelp OptionHelp::with_details(std::string text) && {
  details = std::move(text);
  return std::move(*this);
}

OptionHelp OptionHelp::with_default(std::string text) && {
  usual = std::move(text);
  return std::move(*this);
}

OptionHelp OptionHelp::with_values(std::vector<std::string> words) && {
  values = std::move(words);
  return std::move(*this);
}

void begin_group(CLI::App& app, const std::string& name) { app.option_defaults()->group(name); }

OptionHelp help_of(CLI::Option& option) {
  const std::string& text = option.get_description();
  const std::size_t details = std::min(text.find('\n'), text.size());
  const std::size_t usual = std::min(text.find('\n', details + 1), text.size());
  OptionHelp help(text.substr(0, details));
  if (details < text.size()) help.details = text.substr(details + 1, usual - details - 1);
  if (usual < text.size()) help.usual = text.substr(usual + 1);
  help.values = values_of(option);
  return help;
}

std::string group_of(const CLI::Option& option) { return option.get_group(); }

void refuse_empty(const std::string& text, const std::string& name) {
  if (!text.empty()) return;
  throw Error(ErrorCode::invalid_argument, "parse options", name + " has an empty value",
              "check the variable that it comes from, or leave out " + name);
}

void add_flag(CLI::App& app, const std::string& names, bool& target, const OptionHelp& help) {
  app.add_flag(names, target, description_of(help));
}

void add_text(CLI::App& app, const std::string& names, const std::string& value_name,
              std::string& target, const OptionHelp& help) {
  with_value(app.add_option(names, target), names, help)->type_name(value_name)->take_last();
}

void add_required_text(CLI::App& app, const std::string& names, const std::string& value_name,
                       std::string& target, const OptionHelp& help) {
  with_value(app.add_option(names, target), names, help)->type_name(value_name)->required();
}

void add_optional_text(CLI::App& app, const std::string& names, const std::string& value_name,
                       std::optional<std::string>& target, const std::string& without_value,
                       const OptionHelp& help) {
  // CLI11 passes "true" where the value is left out, and checks no value that may be.
  const auto take = [&target, without_value](const std::string& text) {
    target = text == "true" ? without_value : text;
  };
  app.add_option_function<std::string>(names, take, description_of(help))
      ->type_name("[" + value_name + "]")
      ->take_last()
      ->expected(0, 1);
}

void add_texts(CLI::App& app, const std::string& names, const std::string& value_name,
               std::vector<std::string>& target, const OptionHelp& help) {
  with_value(app.add_option(names, target), names, help)
      ->type_name(value_name)
      ->allow_extra_args(false);
}

void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
               const OptionHelp& help) {
  with_value(app.add_option(name, target), name, help)->type_name("");
}

void add_size(CLI::App& app, const std::string& names, std::uint64_t& target,
              const OptionHelp& help, std::uint64_t least) {
  const auto parse = [&target, name = long_name(names), least](const std::string& text) {
    try {
      target = parse_size(text);
    } catch (const Error& error) {
      throw error.with_context(name);
    }
    if (target >= least) return;
    throw Error(ErrorCode::invalid_argument, "parse size",
                fmt::format("invalid value '{}' for {}: expected at least {}", text, name,
                            base::count_of(least, "byte")),
                "write it as 64MiB, 64MB or a number of bytes");
  };
  with_value(app.add_option_function<std::string>(names, parse), names, help)
      ->type_name("SIZE")
      ->take_last();
}

std::vector<std::uint64_t> parse_sizes_of(const std::string& option, std::string_view text) {
  try {
    return parse_sizes(text);
  } catch (const Error& error) {
    throw error.with_context(option);
  }
}

void add_count(CLI::App& app, const std::string& names, std::uint64_t& target,
               const OptionHelp& help, std::uint64_t least, std::uint64_t most) {
  const auto parse = [&target, name = long_name(names), least, most](const std::string& text) {
    const auto count = base::parse_number<std::uint64_t>(text);
    if (count && *count >= least && *count <= most) {
      target = *count;
      return;
    }
    const std::string range = most == UINT64_MAX ? fmt::format("from {}", least)
                                                 : fmt::format("from {} to {}", least, most);
    throw Error(
        ErrorCode::invalid_argument, "parse count",
        fmt::format("invalid value '{}' for {}: expected a whole number {}", text, name, range));
  };
  with_value(app.add_option_function<std::string>(names, parse), names, help)
      ->type_name("N")
      ->take_last();
}

void add_tokens(CLI::App& app, const std::string& names, std::uint64_t& target,
                const OptionHelp& help, std::uint64_t most) {
  const auto parse = [&target, name = long_name(names), most](const std::string& text) {
    std::string_view digits = text;
    std::uint64_t unit = 1;
    if (digits.ends_with('k') || digits.ends_with('K')) unit = 1024;
    if (digits.ends_with('m') || digits.ends_with('M')) unit = 1024 * 1024;
    if (unit > 1) digits.remove_suffix(1);
    const auto count = base::parse_number<std::uint64_t>(digits);
    if (count && *count >= 1 && *count <= most / unit) {
      target = *count * unit;
      return;
    }
    throw Error(ErrorCode::invalid_argument, "parse tokens",
                fmt::format("invalid value '{}' for {}: expected a number of tokens from 1 to {}, "
                            "such as 8192 or 8k",
                            text, name, most));
  };
  with_value(app.add_option_function<std::string>(names, parse), names, help)
      ->type_name("N")
      ->take_last();
}

void add_choice(CLI::App& app, const std::string& names, const std::string& value_name,
                std::optional<std::string>& target, std::vector<std::string> choices,
                const OptionHelp& help, const std::string& hint,
                std::vector<std::string> unlisted) {
  OptionHelp full_help = help;
  full_help.values = choices;
  const auto parse = [&target, name = long_name(names), choices = std::move(choices), hint,
                      unlisted = std::move(unlisted)](const std::string& text) {
    const bool is_unlisted = std::find(unlisted.begin(), unlisted.end(), text) != unlisted.end();
    target = is_unlisted ? text : choice_of(text, choices, name, hint);
  };
  with_value(app.add_option_function<std::string>(names, parse), names, full_help)
      ->type_name(value_name)
      ->take_last();
}

std::vector<std::string> split_list(std::string_view text, const std::string& what) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const auto comma = text.find(',', start);
    parts.emplace_back(text.substr(start, comma - start));
    if (parts.back().empty()) {
      throw Error(ErrorCode::invalid_argument, "parse list",
                  fmt::format("invalid value '{}' for {}: empty list element", text, what),
                  "separate elements by single commas, without spaces");
    }
    if (comma == std::string_view::npos) return parts;
    start = comma + 1;
  }
}

double parse_seconds(const std::string& text, const std::string& option, double most) {
  const auto seconds = base::parse_number<double>(text);
  if (seconds && *seconds > 0 && *seconds <= most) return *seconds;
  throw Error(ErrorCode::invalid_argument, "parse options",
              fmt::format("{}: '{}' is not a number of seconds above 0 and up to {:.0f}", option,
                          text, most),
              "write it as 60 or 0.5");
}

double parse_duration(const std::string& text, const std::string& option) {
  constexpr double most_s = 7 * 86400;
  double unit_s = 1;
  std::string_view number = text;
  if (!number.empty()) {
    const char last = number.back();
    if (last == 'm') unit_s = 60;
    if (last == 'h') unit_s = 3600;
    if (last == 's' || last == 'm' || last == 'h') number.remove_suffix(1);
  }
  const auto count = base::parse_number<double>(number);
  if (count && *count > 0 && *count * unit_s <= most_s) return *count * unit_s;
  throw Error(ErrorCode::invalid_argument, "parse options",
              fmt::format("{}: '{}' is not a time above 0 and up to a week", option, text),
              "write it as 30s, 10m or 1h");
}

double parse_timeout(const std::string& text) { return parse_seconds(text, "--timeout", 86400); }

std::string choice_of(std::string_view word, const std::vector<std::string>& choices,
                      const std::string& what, const std::string& hint) {
  const auto is_word = [word](const std::string& choice) {
    return base::equals_ignoring_case(choice, word);
  };
  const auto found = std::find_if(choices.begin(), choices.end(), is_word);
  if (found != choices.end()) return *found;
  const std::string near = base::suggestion(word, choices);
  throw Error(ErrorCode::invalid_argument, "parse choice",
              fmt::format("invalid value '{}' for {}: expected one of {}", word, what,
                          fmt::join(choices, ", ")),
              near.empty() ? hint : near);
}

}  // namespace hiptool::cli
