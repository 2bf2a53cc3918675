// SPDX-License-Identifier: MIT
/// A command run by several processes of its own, one after the other: how much what it measures
/// differs from process to process decides how small a change can be found.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/compare_options.hpp"

namespace hiptool::cli {

struct RepeatOptions {
  std::uint64_t repeats = 0;  ///< processes; 0: this process measures
  std::string against;        ///< another hiptool, whose processes alternate with this one's
};

void add_repeat_options(CLI::App& app, RepeatOptions& options);

/// What has no effect without --repeat, or with it. `compared` names the other option that
/// compares ("--baseline"; empty: none).
std::vector<OptionRule> rules_of_repeat(const std::string& compared);

/// What repeated runs are compared with.
struct RepeatComparison {
  CompareOptions how;
  std::string baseline;             ///< a document of an earlier run; empty: none
  bool is_strict_baseline = false;  ///< a measurement that only one side has is a failure
};

/// Starts the command options.repeats times with the options of this run, without options of
/// output and of comparison, writes the report of all of them, and returns its exit code. With
/// `against` that program runs as often: old, new, new, old, so that a drift of the machine meets
/// both alike. Blocks. Throws Error(invalid_argument) for a program that cannot be run, and what
/// the first process reported if it measured nothing.
int run_repeated(std::string_view command, const RepeatOptions& options,
                 const RepeatComparison& comparison, Context& context);

}  // namespace hiptool::cli
