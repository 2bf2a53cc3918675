// SPDX-License-Identifier: MIT
/// Declares options on a command, so that commands need not include CLI11. A bad value throws
/// Error(invalid_argument) with the option's name and a hint; an empty value is bad for all.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hiptool::cli {

/// What help says about an option or argument. The accepted values and the default are written
/// after it in one place: "[possible values: f32, f16] [default: f16]".
struct OptionHelp {
  OptionHelp(const char* text = "") : summary(text) {}        // NOLINT: most have only this
  OptionHelp(std::string text) : summary(std::move(text)) {}  // NOLINT: the same

  /// Further sentences, for the long help, the manual page and the reference.
  OptionHelp with_details(std::string text) &&;
  /// What holds without the option: "64MiB".
  OptionHelp with_default(std::string text) &&;
  /// The accepted words of a list, or of a value that may also be another text.
  OptionHelp with_values(std::vector<std::string> words) &&;

  std::string summary;  ///< a phrase of one line; the short help and completion have no more
  std::string details = {};
  std::string usual = {};
  std::vector<std::string> values = {};
};

/// The group of options that are declared without one.
inline constexpr const char* usual_group = "Options";

/// Options that are declared after this are in the group of that name in the help.
void begin_group(CLI::App& app, const std::string& name);

/// What an option was declared with.
OptionHelp help_of(CLI::Option& option);

/// The group that the option was declared in.
std::string group_of(const CLI::Option& option);

/// Throws Error(invalid_argument) for an empty value of the option or argument.
void refuse_empty(const std::string& text, const std::string& name);

/// Names are written as CLI11 does: "-q,--quiet", "--size", "ID" for a positional argument.
void add_flag(CLI::App& app, const std::string& names, bool& target, const OptionHelp& help);
void add_text(CLI::App& app, const std::string& names, const std::string& value_name,
              std::string& target, const OptionHelp& help);
void add_required_text(CLI::App& app, const std::string& names, const std::string& value_name,
                       std::string& target, const OptionHelp& help);
/// An option whose value may be left out; the target is `without_value` then.
void add_optional_text(CLI::App& app, const std::string& names, const std::string& value_name,
                       std::optional<std::string>& target, const std::string& without_value,
                       const OptionHelp& help);
/// Repeatable; each use takes one value.
void add_texts(CLI::App& app, const std::string& names, const std::string& value_name,
               std::vector<std::string>& target, const OptionHelp& help);
/// A positional argument that takes all remaining words, possibly none.
void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
               const OptionHelp& help);
/// "64MiB", see parse_size; at least `least` bytes.
void add_size(CLI::App& app, const std::string& names, std::uint64_t& target,
              const OptionHelp& help, std::uint64_t least = 1);
/// A whole number from `least` to `most`.
void add_count(CLI::App& app, const std::string& names, std::uint64_t& target,
               const OptionHelp& help, std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
/// A number of tokens from 1 to `most`: "8192", "8k" (8192) or "1M" (1048576).
void add_tokens(CLI::App& app, const std::string& names, std::uint64_t& target,
                const OptionHelp& help, std::uint64_t most);
/// One of the choices, or of those that help does not list. The hint is for values that are not
/// like any of the choices.
void add_choice(CLI::App& app, const std::string& names, const std::string& value_name,
                std::optional<std::string>& target, std::vector<std::string> choices,
                const OptionHelp& help, const std::string& hint = {},
                std::vector<std::string> unlisted = {});

/// Splits at commas; throws Error(invalid_argument) for an empty element. `what` names the option.
std::vector<std::string> split_list(std::string_view text, const std::string& what);

/// Seconds above 0 and up to `most`; throws a usage error that names the option for other texts.
double parse_seconds(const std::string& text, const std::string& option, double most);

/// Seconds of "90", "2s", "10m" or "1h", above 0 and up to a week; throws a usage error that names
/// the option for other texts.
double parse_duration(const std::string& text, const std::string& option);

/// The sizes of a list or range; errors name the option.
std::vector<std::uint64_t> parse_sizes_of(const std::string& option, std::string_view text);

/// The seconds of --timeout, up to a day.
double parse_timeout(const std::string& text);

/// The choice that the word is, in upper or lower case; throws Error(invalid_argument) with a
/// suggestion, else the hint, if it is none. `what` names the option.
std::string choice_of(std::string_view word, const std::vector<std::string>& choices,
                      const std::string& what, const std::string& hint = {});

}  // namespace hiptool::cli
