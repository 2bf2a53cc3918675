// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "cli/console.hpp"

namespace hiptool::cli {

/// What must be known before the words are parsed, so that a failure of parsing is told in the way
/// that was asked for.
struct FirstLook {
  std::string command = "hiptool";  ///< the subcommand, if one is recognised
  bool wants_json = false;
  ColorMode color = ColorMode::automatic;
};

/// Guesses from the words; never fails. Words it does not understand are left to the parser.
FirstLook look_at_words(int argc, const char* const* argv, const GetEnvironment& environment);

}  // namespace hiptool::cli
