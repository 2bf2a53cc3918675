// SPDX-License-Identifier: MIT
/// Which options have an effect together: what would be accepted and ignored is refused.
#pragma once
#include <string>
#include <vector>

namespace hiptool::cli {

/// An option or argument of the command line, by its long name or its name in the usage.
struct GivenOption {
  std::string name;                 ///< "--stage", "PATH"
  std::vector<std::string> values;  ///< as written; of a flag not used
};

/// An option that is given, or one of its values.
struct OptionUse {
  OptionUse(const char* option) : name(option) {}  // NOLINT: reads as the option does
  OptionUse(const char* option, std::vector<std::string> any_of)
      : name(option), values(std::move(any_of)) {}

  std::string name;
  /// Any of these, as the whole value or an element of its list; empty: whatever the value is.
  std::vector<std::string> values;
};

/// When an option has no effect.
struct OptionRule {
  OptionUse option;
  /// Without all of these; empty: it needs none.
  std::vector<OptionUse> needs = {};
  /// With any of these.
  std::vector<OptionUse> excludes = {};
  /// The rule holds only with all of these.
  std::vector<OptionUse> when = {};
  /// Said in place of "has no effect with", where a reason can be given, and the next step.
  std::string why = {};
  std::string hint = {};
};

/// Throws Error(invalid_argument) for the first option that has no effect. One that lacks what it
/// needs comes first: it does not make another refused.
void check_option_rules(const std::vector<OptionRule>& rules,
                        const std::vector<GivenOption>& given);

}  // namespace hiptool::cli
