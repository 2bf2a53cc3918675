// SPDX-License-Identifier: MIT
/// How two runs are compared, the same options for every command that compares.
#pragma once
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace hiptool::cli {

struct CompareOptions {
  std::string effect;      ///< as written: "3%" or "auto"; empty: the usual one
  bool is_strict = false;  ///< what is ambiguous fails too
};

/// Declares --effect and --strict-compare; `place` says which options they need ("with --against"),
/// and `usual` is what is ignored where no effect is given.
void add_compare_options(CLI::App& app, CompareOptions& options, const std::string& place,
                         const std::string& usual = "3%");

/// The share that was chosen, or the usual one; absent for "auto", which is what the noise between
/// processes can decide. Throws Error(invalid_argument) for other texts.
std::optional<double> effect_of(const CompareOptions& options, double usual);

}  // namespace hiptool::cli
