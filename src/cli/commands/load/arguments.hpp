// SPDX-License-Identifier: MIT
/// What `load` and `prove` do with their arguments.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/load/run.hpp"
#include "cli/option_rules.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {

/// Checks the arguments, loads the models and writes the report. Returns the exit code.
int run_load(LoadArguments& options, Context& context);

CommandFiles files_of_load(const LoadArguments& options, const Environment& environment);

// ---- proof_options.cpp

/// Texts of options that are parsed when the command runs.
struct ProofTexts {
  std::string prompt_ids;
  std::string layers;
  std::string observe;
};

/// Help of the arguments and of --prompt-ids of load and prove.
OptionHelp model_help();
OptionHelp prompt_help();

/// --layers, the goldens and the files of the device's values of a proof.
void add_proof_options(CLI::App& app, LoadArguments& options, ProofTexts& texts);

void parse_proof_options(const ProofTexts& texts, LoadArguments& options);

/// What excludes what among these; `proof` is the option that they need, if they need one.
std::vector<OptionRule> rules_of_proof(const char* proof);

}  // namespace hiptool::cli
