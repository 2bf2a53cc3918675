// SPDX-License-Identifier: MIT
#include "cli/repeat.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/error.hpp"
#include "report/compare.hpp"
#include "report/document.hpp"
#include "report/pool.hpp"
#include "report/reader.hpp"
#include "report/remarks.hpp"
#include "results/wrong.hpp"
#include "system/child_process.hpp"

namespace hiptool::cli {
namespace {

using report::Measurement;
using report::Object;
using report::RunFile;
using report::Value;

constexpr std::uint64_t most_repeated_processes = 1000;
constexpr std::chrono::hours longest_process{24};

// Of output and comparison, which are this process's own.
constexpr std::array own_options{"--repeat",   "--against",         "--effect", "--strict-compare",
                                 "--baseline", "--strict-baseline", "--format", "--export",
                                 "--quiet",    "--verbose",         "--color"};

/// One program and what its processes found.
struct Program {
  std::string path;
  std::string name;  ///< "this program", or its path
  std::vector<Object> documents = {};
  std::vector<std::vector<Measurement>> runs = {};
  std::vector<report::Failure> wrong = {};  ///< of measurements, as the first process has each
  bool is_other = false;                    ///< --against
};

std::string own_program(const Context& context) {
  return context.environment.program.empty() ? "/proc/self/exe" : context.environment.program;
}

void require_program(const std::string& path) {
  if (access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path)) return;
  throw usage_error("--against: " + path + " cannot be run", "name the program of another hiptool");
}

std::vector<std::string> words_of(std::string_view command, const Context& context,
                                  const std::string& result) {
  std::vector<std::string> words{std::string(command)};
  for (const GivenOption& one : context.given) {
    if (std::ranges::find(own_options, one.name) != own_options.end()) continue;
    for (const std::string& value : one.values) {
      words.push_back(one.name.starts_with("--") ? one.name + "=" + value : value);
    }
  }
  words.insert(words.end(), {"--quiet", "--export", "json=" + result});
  return words;
}

ErrorCode code_of_exit(int exit_code) {
  switch (exit_code) {
    case 2: return ErrorCode::invalid_argument;
    case 3: return ErrorCode::unavailable;
    case 4: return ErrorCode::input_failed;
    case 5: return ErrorCode::data_mismatch;
    case 6: return ErrorCode::device;
    default: return ErrorCode::internal;
  }
}

// What a process printed last, for one that wrote no document.
std::string last_line(const std::string& output) {
  const auto end = output.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const auto start = output.rfind('\n', end);
  return output.substr(start == std::string::npos ? 0 : start + 1, end - start);
}

/// Runs the processes and keeps what they found.
class Processes {
 public:
  Processes(std::string_view command, Context& context) : command_(command), context_(context) {}

  /// Runs one more process of the program. Throws what it reported if it measured nothing.
  void run(Program& program) {
    const std::string result = folder_.file("result.json");
    std::vector<std::string> words = words_of(command_, context_, result);
    words.insert(words.begin(), program.path);
    std::error_code ignored;
    std::filesystem::remove(result, ignored);
    system::ChildLimits limits;
    limits.time = longest_process;
    limits.memory_bytes = 0;
    limits.has_cpu_limit = false;
    const system::ChildRun ended = run_words(words, limits);
    if (!ended.status || !std::filesystem::exists(result)) throw no_document(program, ended);
    keep(program, report::read_run_document(result, &context_.environment.cancel));
  }

  /// Of the first process that ended in an error although it measured something.
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  system::ChildRun run_words(const std::vector<std::string>& words,
                             const system::ChildLimits& limits) {
    try {
      return system::run_child(words, folder_, limits, &context_.environment.cancel);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled) throw;
      throw Error(ErrorCode::cancelled, std::string(command_), "interrupted");
    }
  }

  Error no_document(const Program& program, const system::ChildRun& ended) const {
    const std::string end = ended.status ? system::describe_end(*ended.status) : "took too long";
    const std::string line = last_line(ended.output);
    const bool has_exited = ended.status && WIFEXITED(*ended.status);
    return Error(has_exited ? code_of_exit(WEXITSTATUS(*ended.status)) : ErrorCode::internal,
                 std::string(command_),
                 fmt::format("{} {}{}{}", program.name, end, line.empty() ? "" : ": ", line));
  }

  void keep(Program& program, Object document) {
    const RunFile file = report::run_file_of(document, program.name);
    const bool is_measured = std::ranges::any_of(
        file.measurements, [](const Measurement& one) { return !one.samples_s.empty(); });
    if (!file.run.error.empty() || !is_measured) {
      std::string message = file.run.error_message();
      if (program.is_other && !message.empty()) message = program.name + ": " + message;
      Error error(
          code_of_exit(file.run.exit_code.value_or(0)), std::string(command_),
          message.empty() ? program.name + " measured nothing that can be compared" : message,
          report::text_of(report::member(file.run.error, "hint")));
      if (!is_measured) throw error;
      if (!error_) error_ = std::move(error);
    }
    for (const report::Failure& failure : file.run.failures) {
      const bool is_known = std::ranges::any_of(
          program.wrong, [&failure](const auto& one) { return one.what == failure.what; });
      if (failure.kind == report::FailureKind::measurement && !is_known)
        program.wrong.push_back(failure);
    }
    program.runs.push_back(file.measurements);
    program.documents.push_back(std::move(document));
  }

  std::string_view command_;
  Context& context_;
  system::WorkFolder folder_;
  std::optional<Error> error_;
};

void tell_process(const Context& context, const Program& program, std::size_t number,
                  std::size_t total) {
  if (context.quiet) return;
  context.environment.console.err(
      fmt::format("[{}/{}] {}: process {}\n", number, total, program.name, program.runs.size()));
}

// Old and new take turns at being first, so that a drift meets both alike.
void run_all(std::uint64_t repeats, Program& now, Program* before, Processes& processes,
             const Context& context) {
  const std::size_t total = repeats * (before == nullptr ? 1 : 2);
  std::size_t number = 0;
  const auto run = [&](Program& program) {
    processes.run(program);
    tell_process(context, program, ++number, total);
  };
  for (std::uint64_t round = 0; round < repeats; ++round) {
    if (before != nullptr && round % 2 == 0) run(*before);
    run(now);
    if (before != nullptr && round % 2 == 1) run(*before);
  }
}

RunFile pooled_file(const Program& program) {
  RunFile file = report::run_file_of(program.documents.front(), program.name);
  file.measurements.clear();
  for (report::PooledMeasurement& one : report::pool_measurements(program.runs)) {
    file.measurements.push_back(std::move(one.measured));
  }
  return file;
}

// The fields of the first process's document that do not describe its run, with the measurements
// of all.
void add_measurements(const Program& program, report::Report& report) {
  const Object& first = program.documents.front();
  for (const auto& entry : first) {
    const std::string& name = entry.first;
    const bool is_own = name == "measurements" || name == "comparisons" || name == "shown" ||
                        name == "baseline_missing" || name == "wall_time_s";
    const bool is_there = std::ranges::any_of(
        report.document, [&name](const auto& field) { return field.first == name; });
    if (!is_own && !is_there) report.document.emplace_back(name, entry.second);
  }
  report::Array values;
  for (report::PooledMeasurement& one : report::pool_measurements(program.runs)) {
    values.push_back(report::pooled_value(program.documents[one.run], one));
    report.measurements.push_back(std::move(one.measured));
  }
  report.document.emplace_back("measurements", std::move(values));
}

/// All that the report is made of.
struct Repeated {
  Program now;
  std::optional<Program> before;
  std::optional<report::RunComparison> compared;
  std::vector<report::Line> warnings;  ///< of what is compared
  std::optional<Error> error;
};

Object repeat_value(const Repeated& repeated, const RepeatComparison& comparison) {
  const auto version = [](const Program& program) {
    return report::member(report::member(program.documents.front(), "tool"), "version");
  };
  const bool has_before = repeated.before && !repeated.before->documents.empty();
  return {{"processes", std::uint64_t{repeated.now.documents.size()}},
          {"against", repeated.before ? Value(repeated.before->path) : Value()},
          {"against_version", has_before ? version(*repeated.before) : Value()},
          {"against_processes",
           has_before ? Value(std::uint64_t{repeated.before->documents.size()}) : Value()},
          {"baseline", report::text_or_absent(comparison.baseline)},
          {"effect", repeated.compared ? Value(repeated.compared->effect) : Value()},
          {"strict", comparison.how.is_strict}};
}

void add_lines(const Repeated& repeated, report::Report& report) {
  using report::Tone;
  const std::size_t processes = repeated.now.documents.size();
  const std::string measured =
      fmt::format("{} in {} process{}", base::count_of(report.measurements.size(), "measurement"),
                  processes, processes == 1 ? "" : "es");
  const auto& compared = repeated.compared;
  std::vector<report::Remark> remarks;
  const std::size_t wrong = report::count_status(report.measurements, report::Status::mismatch);
  if (wrong > 0) {
    const std::string where = results::devices_with(report.measurements, report::Status::mismatch);
    report.verdict.push_back(report::failure_line(fmt::format(
        "WRONG DATA{} in {} of {}", where.empty() ? "" : " on " + where, wrong, measured)));
  }
  if (repeated.error) report.verdict.push_back({Tone::bad, repeated.error->what()});
  if (compared && compared->verdict()) {
    std::vector<report::Line> lines = report::headlines(*compared);
    const bool has_failure = !report.verdict.empty();
    if (has_failure) lines.erase(lines.begin(), lines.end() - 1);
    for (report::Line& line : lines) report.verdict.push_back(std::move(line));
  } else if (compared && !repeated.error) {
    report.verdict.push_back({Tone::bad, "nothing in common with what it is compared with"});
  }
  report.verdict.push_back({report.verdict.empty() ? Tone::good : Tone::plain, measured});
  for (const report::Line& line : repeated.warnings) report.verdict.push_back(line);
  if (compared) {
    std::string decidable = report::decidable_text(compared->comparisons);
    if (!decidable.empty()) report.verdict.push_back({Tone::plain, std::move(decidable)});
    for (const report::Comparison& one : compared->comparisons) {
      if (!one.reason.empty()) remarks.push_back({Tone::plain, "", one.id, {}, one.reason});
    }
    for (const auto& [ids, where] : {std::pair(&compared->only_old, "only in the old run"),
                                     std::pair(&compared->only_new, "only in the new run")}) {
      for (const std::string& id : *ids) remarks.push_back({Tone::plain, "", id, {}, where});
    }
  }
  for (const Measurement& one : report.measurements) {
    report::add_share_remark(one, remarks);
    if (one.status == report::Status::ok) continue;
    remarks.push_back(report::remark_of(
        one, Tone::plain, fmt::format("{} ", report::to_string(one.status)), one.reason));
  }
  for (report::Line& line : lines_of(remarks)) report.notes.push_back(std::move(line));
}

int write_report(std::string_view command, const Repeated& repeated,
                 const RepeatComparison& comparison, Context& context) {
  Environment& environment = context.environment;
  report::Report report;
  add_measurements(repeated.now, report);
  const bool is_wrong = report::count_status(report.measurements, report::Status::mismatch) > 0;
  report::Run run = make_run(environment, command, is_wrong ? "mismatch" : "ok");
  const auto& error = repeated.error;
  if (error) print_error(environment.console, *error);
  std::vector<report::Failure> failures = repeated.now.wrong;
  if (repeated.compared) {
    for (report::Failure& one : repeated.compared->failures()) failures.push_back(std::move(one));
  }
  const int exit_code = finish_run(run, environment, error ? &*error : nullptr, failures, is_wrong);
  report = report::start_report(std::move(run));
  add_measurements(repeated.now, report);
  report::set_comparisons(report, repeated.compared ? repeated.compared->comparisons
                                                    : std::vector<report::Comparison>());
  if (command == "bench-copy") {
    const auto& compared = repeated.compared;
    report.document.emplace_back("baseline_missing",
                                 compared ? report::missing_value(*compared) : report::Array());
  }
  report.document.emplace_back("wall_time_s", environment.elapsed_s());
  report.document.emplace_back("repeat", repeat_value(repeated, comparison));
  add_lines(repeated, report);
  results::add_action_lines(report);
  report.tables.push_back(report::pooled_table(report.measurements));
  if (!report.comparisons.empty()) {
    report.tables.push_back(report::comparisons_table(report.comparisons));
  }
  context.output.write(report);
  return exit_code;
}

}  // namespace

void add_repeat_options(CLI::App& app, RepeatOptions& options) {
  add_count(app, "--repeat", options.repeats,
            OptionHelp("measure in N processes, one after the other")
                .with_details("their noise decides how small a change can be found"),
            1, most_repeated_processes);
  add_text(app, "--against", "PROGRAM", options.against,
           OptionHelp("with --repeat: exit 1 if slower than this hiptool")
               .with_details("its processes alternate with this one's"));
}

std::vector<OptionRule> rules_of_repeat(const std::string& compared) {
  std::vector<OptionRule> rules{{"--against", {"--repeat"}}};
  OptionRule judged{"--fail-below", {}, {"--repeat"}};
  judged.why = "judges one process, but --repeat measures in several";
  judged.hint = "leave out one of the two";
  rules.push_back(std::move(judged));
  if (compared.empty()) {
    rules.push_back({"--effect", {"--against"}});
    rules.push_back({"--strict-compare", {"--against"}});
  }
  return rules;
}

int run_repeated(std::string_view command, const RepeatOptions& options,
                 const RepeatComparison& comparison, Context& context) {
  const std::optional<double> effect = effect_of(comparison.how, base::least_effect);
  const bool has_before = !options.against.empty();
  if (has_before && !comparison.baseline.empty()) {
    throw usage_error("--against and --baseline exclude each other", "give one of them");
  }
  if (has_before) require_program(options.against);
  std::optional<RunFile> baseline;
  if (!comparison.baseline.empty()) {
    baseline = report::read_run_file(comparison.baseline, &context.environment.cancel);
  }
  Repeated repeated{{own_program(context), "this program"}, {}, {}, {}, {}};
  if (has_before) {
    repeated.before = Program{options.against, options.against};
    repeated.before->is_other = true;
  }
  Processes processes(command, context);
  try {
    run_all(options.repeats, repeated.now, has_before ? &*repeated.before : nullptr, processes,
            context);
    repeated.error = processes.error();
  } catch (const Error& error) {
    if (repeated.now.documents.empty()) throw;
    repeated.error = error;
  }
  if (repeated.before && !repeated.before->documents.empty()) {
    baseline = pooled_file(*repeated.before);
  }
  if (baseline) {
    RunFile now = pooled_file(repeated.now);
    now.run.passed = true;  // how it ended is the verdict, not a warning
    repeated.compared = report::compare_runs(
        *baseline, now, effect,
        has_before ? base::ProcessOrder::alternating : base::ProcessOrder::apart);
    repeated.warnings = report::warning_lines(*baseline, now);
    repeated.compared->is_strict = comparison.how.is_strict;
    repeated.compared->is_strict_baseline = comparison.is_strict_baseline;
  }
  return write_report(command, repeated, comparison, context);
}

}  // namespace hiptool::cli
