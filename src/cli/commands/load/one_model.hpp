// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "cli/command.hpp"
#include "cli/commands/load/run.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"
#include "results/load/outcome.hpp"

namespace hiptool::cli {

/// How the load of one model ended.
struct ModelResult {
  results::LoadOutcome outcome;  ///< without a model: it could not be opened
  std::optional<Error> error;    ///< ended the load
  int exit_code = 0;
};

/// Loads the only model of `arguments`. Its times count from `origin_s` of the command's time.
/// Throws nothing that is an Error.
ModelResult load_one_model(const LoadArguments& arguments, Context& context, LoadSession& session,
                           double origin_s);

/// Throws Error(invalid_argument) for a self-test of a model without tensors.
void require_tensors_for_self_test(const LoadArguments& arguments,
                                   const results::LoadOutcome& outcome);

/// The report of a command that loaded this model.
report::Report report_of_model(const ModelResult& result, const LoadArguments& arguments,
                               const Environment& environment);

}  // namespace hiptool::cli
