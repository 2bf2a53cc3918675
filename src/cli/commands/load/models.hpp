// SPDX-License-Identifier: MIT
/// `load` of several models: one after the other, with one verdict.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/load/run.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// One of several models and what its load led to.
struct ModelLoad {
  std::string path;  ///< as given
  std::string name;  ///< for people: short where that is unique
  report::LoadFigures figures;
  report::Report report;              ///< as of a command that loads this model alone
  std::vector<report::Table> tables;  ///< what was found and listed, with the name in the title
  std::vector<report::Line> notes;    ///< of this model
  std::vector<report::Line> shared_notes;  ///< may be the same of others; shown once
  std::optional<Error> error;
  std::string reason;  ///< why it did not pass, in one line
  std::string fit;     ///< of a model that was only planned
  bool was_started = true;
};

/// The paths without further shards, or the folder, of a set that an earlier one leads to:
/// "s-*.gguf" is one model. The same path again is another load.
std::vector<std::string> without_shards(const LoadArguments& arguments,
                                        const Environment& environment);

/// Loads, verifies and releases one model after the other. An error in one does not stop the
/// others; an interrupt does.
int run_models(const LoadArguments& arguments, Context& context);

// ---- models_report.cpp

/// The one whose exit code is that of all: see severity_of(); the first of several.
const ModelLoad& worst_of(const std::vector<ModelLoad>& loads);

/// The document with `models` and one verdict; `verdict_time_s` is that of the last model.
report::Report make_models_report(report::Run run, std::vector<ModelLoad> loads,
                                  double verdict_time_s, double wall_time_s,
                                  const Console& console);

}  // namespace hiptool::cli
