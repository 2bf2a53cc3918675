// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "cli/output/console.hpp"

namespace hiptool::cli {

/// Options that also apply when parsing fails: the error must appear in the requested format and
/// colour.
struct EarlyOptions {
  std::string command = "hiptool";  ///< the subcommand, if one is recognised
  bool wants_json = false;
  ColorMode color = ColorMode::automatic;
};

/// Never fails; leaves everything it does not recognise to the parser.
EarlyOptions read_early_options(int argc, const char* const* argv,
                                const GetEnvironment& environment);

}  // namespace hiptool::cli
