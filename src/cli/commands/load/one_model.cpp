// SPDX-License-Identifier: MIT
#include "cli/commands/load/one_model.hpp"

#include <string_view>
#include <utility>

#include "cli/document.hpp"
#include "hiptool/model_summary.hpp"
#include "load/status.hpp"
#include "results/load/report.hpp"

namespace hiptool::cli {
namespace {

// The last step that was done.
std::string_view status_text(const results::LoadOutcome& outcome, const Error* error) {
  if (outcome.prove && !outcome.prove->result.is_right()) return "wrong";
  if (outcome.is_planned) return "planned";
  if (outcome.prove && !outcome.prove->written_golden.empty()) return to_string(outcome.status);
  if (error == nullptr && outcome.prove) return "proved";
  if (error == nullptr && outcome.decode) return "decoded";
  return to_string(outcome.status);
}

}  // namespace

ModelResult load_one_model(const LoadArguments& arguments, Context& context, LoadSession& session,
                           double origin_s) {
  const Environment& environment = context.environment;
  const double start_s = environment.elapsed_s() - origin_s;
  ModelResult result;
  results::LoadOutcome& outcome = result.outcome;
  try {
    run_load_steps(arguments, context, session, outcome);
  } catch (const Error& error) {
    outcome.is_planned = false;
    outcome.status = load::status_after(outcome.status, error);
    result.error = error;
  }
  // Only the report needs it; 100 000 tensors take some milliseconds.
  if (outcome.model && !outcome.summary) outcome.summary = summarize(*outcome.model);
  outcome.wall_time_s = environment.elapsed_s() - origin_s - session.preparation_s;
  outcome.process_verdict_time_s =
      outcome.verdict_time_s ? start_s + *outcome.verdict_time_s : outcome.wall_time_s;
  result.exit_code = results::load_exit_code(outcome, result.error ? &*result.error : nullptr,
                                             environment.signal());
  return result;
}

void require_tensors_for_self_test(const LoadArguments& arguments,
                                   const results::LoadOutcome& outcome) {
  if (!arguments.self_test || outcome.status != LoadStatus::empty) return;
  throw Error(ErrorCode::invalid_argument, "self-test", "self-test: the model has no tensors",
              "take a larger model, or `hiptool load --demo --self-test`");
}

report::Report report_of_model(const ModelResult& result, const LoadArguments& arguments,
                               const Environment& environment) {
  const Error* error = result.error ? &*result.error : nullptr;
  report::Run run = make_run(environment, arguments.command, status_text(result.outcome, error));
  if (error != nullptr) run.set_error(*error);
  run.end(result.exit_code, results::load_failures(result.outcome));
  return results::make_load_report(std::move(run), result.outcome, error, arguments);
}

}  // namespace hiptool::cli
