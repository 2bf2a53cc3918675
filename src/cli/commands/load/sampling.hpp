// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "hiptool/sampling.hpp"

namespace CLI {
class App;
}

namespace hiptool::cli {

/// The options of `load` that choose tokens, as they were given.
struct SamplingArguments {
  std::string temperature;  ///< empty: not given, as the next one
  std::string top_p;
  std::uint64_t top_k = 0;
  std::uint64_t seed = 0;

  bool are_given() const {
    return !temperature.empty() || !top_p.empty() || top_k != 0 || seed != 0;
  }
};

/// Declares --temperature, --top-k, --top-p and --seed.
void add_sampling_options(CLI::App& app, SamplingArguments& target);

/// Throws a usage error for texts that are no numbers, numbers out of range, and where an option
/// has no effect because the temperature is 0.
SamplingOptions parse_sampling(const SamplingArguments& arguments);

}  // namespace hiptool::cli
