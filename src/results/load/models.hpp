// SPDX-License-Identifier: MIT
/// The results of a load of several models, with one verdict.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// One of several models and what its load led to.
struct ModelLoad {
  std::string path;  ///< as given
  std::string name;  ///< for people: short where that is unique
  report::LoadedModel loaded;
  report::Report report;              ///< as of a command that loads this model alone
  std::vector<report::Table> tables;  ///< what was found and listed, with the name in the title
  std::vector<report::Line> notes;    ///< of this model
  std::vector<report::Line> shared_notes;  ///< may be the same of others; shown once
  std::optional<Error> error;
  std::string reason;  ///< why it did not pass, in one line
  std::string fit;     ///< of a model that was only planned
  bool was_started = true;
};

/// The one that decides the exit code of all: see severity_of(); the first of several.
const ModelLoad& worst_of(const std::vector<ModelLoad>& loads);

/// The document with `models` and one verdict; `verdict_time_s` is the last model's. The
/// table of the models is made for that many columns.
report::Report make_models_report(report::Run run, std::vector<ModelLoad> loads,
                                  double verdict_time_s, double wall_time_s, std::size_t width);

}  // namespace hiptool::results
