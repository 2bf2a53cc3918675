// SPDX-License-Identifier: MIT
#include "cli/commands/load/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cli/commands/load/decode.hpp"
#include "cli/commands/load/one_model.hpp"
#include "cli/commands/load/prove.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/model_path.hpp"
#include "cli/output/failure.hpp"
#include "report/text.hpp"
#include "results/load/report.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

std::string last_part(const std::string& path) {
  fs::path whole(path);
  if (whole.filename().empty()) whole = whole.parent_path();  // "folder/"
  return whole.filename().empty() ? path : whole.filename().string();
}

// The last part of each path, or the whole path where two different ones end alike.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const bool is_shared = std::any_of(paths.begin(), paths.end(), [&](const std::string& other) {
      return other != path && last_part(other) == last_part(path);
    });
    names.push_back(is_shared ? path : last_part(path));
  }
  return names;
}

bool is_shard_name(const std::string& path) { return path.find("-of-") != std::string::npos; }

// The first file of a set; empty for a model of one file and for one that cannot be opened.
std::string first_of_set(const std::string& path, const LoadArguments& arguments,
                         const Environment& environment) {
  environment.cancel.throw_if_cancelled("load");
  try {
    const ModelFile model =
        open_model(path, {arguments.strict, arguments.opaque}, environment.getenv);
    std::error_code ignored;
    return model.files().size() < 2
               ? std::string()
               : fs::weakly_canonical(model.files().front().path, ignored).string();
  } catch (const Error&) {
    return {};
  }
}

// One for a model that cannot be opened, whose load will say why.
std::size_t count_files(const std::string& path, const LoadArguments& arguments,
                        const Environment& environment) {
  environment.cancel.throw_if_cancelled("load");
  try {
    return open_model(path, {arguments.strict, arguments.opaque}, environment.getenv)
        .files()
        .size();
  } catch (const Error&) {
    return 1;
  }
}

// The given hashes by model: they follow the order of the paths and of the files of each.
std::vector<std::vector<std::string>> hashes_by_model(const LoadArguments& arguments,
                                                      const Environment& environment) {
  std::vector<std::vector<std::string>> hashes(arguments.paths.size());
  if (arguments.sha256.empty()) return hashes;
  std::size_t files = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::size_t count = count_files(arguments.paths[i], arguments, environment);
    for (std::size_t at = files; at < files + count && at < arguments.sha256.size(); ++at) {
      hashes[i].push_back(arguments.sha256[at]);
    }
    files += count;
  }
  if (files == arguments.sha256.size()) return hashes;
  throw usage_error(
      fmt::format("the {} models have {}, and {} SHA-256 were given", hashes.size(),
                  base::count_of(files, "file"), arguments.sha256.size()),
      "give one for each file, in the order of the PATHs and of the files of each, or write them "
      "to SHA256SUMS next to the files, as sha256sum prints them, and use --verify published");
}

bool is_named(const std::string& text, const results::ModelLoad& load) {
  return text.find(load.path) != std::string::npos || text.find(load.name) != std::string::npos;
}

// Of several models every message names its model.
Error named(const Error& error, const results::ModelLoad& load) {
  return is_named(error.what(), load) ? error.about(load.path)
                                      : error.with_context(load.name).about(load.name);
}

std::string reason_of(const ModelResult& result, const results::ModelLoad& load) {
  const results::LoadOutcome& outcome = result.outcome;
  if (result.exit_code == exit_done) return {};
  const bool is_refused = outcome.fit && !outcome.fit->is_held;
  const bool is_wrong = result.exit_code == exit_code_of(ErrorCode::data_mismatch);
  if (result.error && !is_refused && !is_wrong) return result.error->cause();
  const std::string failed_check = results::failed_check_text(outcome);
  return failed_check.empty() ? load.report.verdict.front().text : failed_check;
}

void add_notes(const ModelResult& result, results::ModelLoad& load) {
  const results::LoadOutcome& outcome = result.outcome;
  if (outcome.prove) {
    load.notes.push_back(results::prove_verdict(*outcome.prove, load.name));
    load.notes.back().tone = report::Tone::plain;
    for (const report::Line& line : results::prove_lines(*outcome.prove))
      load.notes.push_back(line);
  }
  if (outcome.decode) {
    load.notes.push_back(
        {report::Tone::plain, load.name + ": " + results::decode_verdict(*outcome.decode)});
    for (const report::Line& line : results::decode_lines(*outcome.decode))
      load.notes.push_back(line);
  }
  if (!outcome.found_for.empty()) {
    load.shared_notes.push_back({report::Tone::plain, "found " + results::found_text(outcome)});
  }
  if (!outcome.uncompared_hashes.empty()) {
    load.shared_notes.push_back(
        {report::Tone::plain, load.name + ": " + results::uncompared_text(outcome)});
  }
  for (const std::string& warning : results::load_warnings(outcome)) {
    load.shared_notes.push_back({report::Tone::warning, "warning: " + load.name + ": " + warning});
  }
  for (const report::Line& line : load.report.notes) {
    if (line.tone != report::Tone::warning) load.shared_notes.push_back(line);
  }
}

results::ModelLoad finished(results::ModelLoad load, const ModelResult& result,
                            const LoadArguments& arguments, const Environment& environment) {
  load.report = report_of_model(result, arguments, environment);
  load.loaded = results::loaded_model(result.outcome, load.report.run);
  load.loaded.path = load.path;
  load.error = result.error;
  const results::LoadOutcome& outcome = result.outcome;
  if (outcome.fit && outcome.is_planned) {
    load.fit = results::fit_text(*outcome.fit, outcome.chosen_devices);
  }
  load.reason = reason_of(result, load);
  load.tables = results::finding_tables(result.outcome);
  for (report::Table& table : results::listing_tables(result.outcome, arguments)) {
    load.tables.push_back(std::move(table));
  }
  for (report::Table& table : load.tables) table.title += " of " + load.name;
  add_notes(result, load);
  return load;
}

/// The models of one command, one after the other.
class ModelsRun {
 public:
  ModelsRun(const LoadArguments& arguments, Context& context)
      : arguments_(arguments),
        context_(context),
        environment_(context.environment),
        session_(context) {}

  int run() {
    const auto hashes = hashes_by_model(arguments_, environment_);
    const std::vector<std::string> names = names_of(arguments_.paths);
    for (std::size_t i = 0; i < names.size(); ++i) {
      results::ModelLoad load;
      load.path = arguments_.paths[i];
      load.name = names[i];
      if (environment_.cancel.is_cancelled()) {
        loads_.push_back(not_started(std::move(load)));
        continue;
      }
      session_.step_prefix = fmt::format("{}/{} ", i + 1, names.size());
      session_.needs_memory_again = i + 1 < names.size();
      loads_.push_back(run_one(std::move(load), hashes[i]));
    }
    return finish();
  }

 private:
  LoadArguments arguments_of(const results::ModelLoad& load,
                             std::vector<std::string> sha256) const {
    LoadArguments one = arguments_;
    one.paths = {load.path};
    one.sha256 = std::move(sha256);
    return one;
  }

  results::ModelLoad run_one(results::ModelLoad load, const std::vector<std::string>& sha256) {
    const LoadArguments one = arguments_of(load, sha256);
    const double origin_s = environment_.elapsed_s();
    ModelResult result;
    try {
      result = load_one_model(one, context_, session_, origin_s);
      if (!result.error) require_tensors_for_self_test(one, result.outcome);
    } catch (const std::exception& exception) {
      result.error = as_error(exception);
      result.outcome.status = LoadStatus::failed;
      result.exit_code = exit_code_of(result.error->code(), environment_.signal());
    }
    verdict_time_s_ = origin_s + result.outcome.process_verdict_time_s;
    if (result.error) show(*result.error, load, result);
    return finished(std::move(load), result, one, environment_);
  }

  // The same failure of a device is shown once; each model has it in its row.
  void show(const Error& error, const results::ModelLoad& load, ModelResult& result) {
    const bool is_new = shown_error_ != error.what();
    shown_error_ = error.what();
    result.error = session_.lacks_devices() ? error : named(error, load);
    if (is_new) print_error(environment_.console, *result.error);
  }

  results::ModelLoad not_started(results::ModelLoad load) {
    ModelResult result;
    result.outcome.status = LoadStatus::interrupted;
    result.error = Error(ErrorCode::cancelled, "load", load.name + ": not started");
    result.exit_code = exit_code_of(ErrorCode::cancelled, environment_.signal());
    load.was_started = false;
    return finished(std::move(load), result, arguments_of(load, {}), environment_);
  }

  int finish() {
    const results::ModelLoad& worst = results::worst_of(loads_);
    report::Run run = make_run(environment_, arguments_.command, worst.report.run.status);
    if (worst.error) run.set_error(*worst.error);
    std::vector<report::Failure> failures;
    for (const results::ModelLoad& load : loads_) {
      for (report::Failure failure : load.report.run.failures) {
        failure.what = load.name + ": " + failure.what;
        failures.push_back(std::move(failure));
      }
    }
    const int exit_code = worst.report.run.exit_code.value_or(exit_done);
    run.end(exit_code, std::move(failures));
    context_.output.write(results::make_models_report(std::move(run), std::move(loads_),
                                                      verdict_time_s_, environment_.elapsed_s(),
                                                      environment_.console.width_out()));
    return exit_code;
  }

  const LoadArguments& arguments_;
  Context& context_;
  Environment& environment_;
  LoadSession session_;
  std::vector<results::ModelLoad> loads_;
  std::string shown_error_;
  double verdict_time_s_ = 0;
};

}  // namespace

std::vector<std::string> without_shards(const LoadArguments& arguments,
                                        const Environment& environment) {
  const std::vector<std::string>& paths = arguments.paths;
  // Only then are headers read twice.
  const bool has_shards = std::any_of(paths.begin(), paths.end(), is_shard_name);
  if (paths.size() < 2 || !has_shards) return paths;
  std::map<std::string, std::string> known;  // the path by the first file of its set
  std::vector<std::string> kept;
  for (const std::string& path : paths) {
    const std::string first = first_of_set(path, arguments, environment);
    const auto [at, is_new] = known.emplace(first, path);
    if (first.empty() || is_new || at->second == path) kept.push_back(path);
  }
  return kept;
}

int run_models(const LoadArguments& arguments, Context& context) {
  return ModelsRun(arguments, context).run();
}

}  // namespace hiptool::cli
