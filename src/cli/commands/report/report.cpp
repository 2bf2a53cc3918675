// SPDX-License-Identifier: MIT
#include "cli/commands/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "base/text.hpp"
#include "cli/compare_options.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/error.hpp"
#include "machine/codes.hpp"

namespace hiptool::cli {
namespace {

struct ReportOptions {
  std::string action;  ///< "compare", "merge" or "render"
  std::vector<std::string> files;
  CompareOptions compare;    ///< of compare
  std::string exclude_list;  ///< of merge; empty: none is written
};

// Exit code 1 if a measurement is slower or the documents have none in common, else 0.
int run_report_compare(const ReportOptions& options, Context& context) {
  const CancelToken* cancel = &context.environment.cancel;
  context.environment.console.set_step("reading documents");
  const report::RunFile before = report::read_run_file(options.files[0], cancel);
  const report::RunFile after = report::read_run_file(options.files[1], cancel);
  context.environment.console.set_step("comparing");
  const auto effect = effect_of(options.compare, report::usual_effect(before));
  report::RunComparison comparison = report::compare_runs(before, after, effect);
  comparison.is_strict = options.compare.is_strict;
  report::Run run = make_run(context.environment, "report", "ok");
  const int exit_code = finish_run(run, context.environment, nullptr, comparison.failures());
  context.output.write(compare_report(std::move(run), comparison, before, after));
  return exit_code;
}

// Stragglers are found by the merge itself, so that no run has their code.
std::vector<report::Failure> merge_failures(const report::Merge& merge) {
  std::vector<report::Failure> failures = merge.run_failures();
  for (report::Failure& failure : failures) {
    if (failure.kind != report::FailureKind::straggler) continue;
    failure.code = machine::codes::straggler;
    failure.action_class = machine::action_class_of(failure.code);
    failure.action = machine::find_code(failure.code)->advice;
  }
  return failures;
}

int run_report_merge(const ReportOptions& options, Context& context) {
  Environment& environment = context.environment;
  std::optional<ExportFile> list;
  if (!options.exclude_list.empty()) list.emplace(options.exclude_list, "--exclude-list FILE");
  std::size_t read = 0;
  const report::Merge merge = report::merge_runs(options.files, [&](const std::string& path) {
    environment.console.set_step("reading documents",
                                 fmt::format("{} of {} read", read++, options.files.size()));
    return report::read_run_document(path, &environment.cancel);
  });
  const std::optional<Error> error = merge.error();
  if (error) print_error(environment.console, *error);
  report::Run run = make_run(environment, "report", "ok");
  const int exit_code =
      finish_run(run, environment, error ? &*error : nullptr, merge_failures(merge));
  const report::Report report = merge_report(std::move(run), merge);
  if (list) {
    const auto hosts = merge.excluded_hosts();
    context.output.write_file(*list,
                              hosts.empty() ? "" : fmt::format("{}\n", fmt::join(hosts, ",")));
  }
  context.output.write(report);
  return exit_code;
}

// If no format was chosen: a table for people at a terminal, and HTML into a file. Exit code 0 once
// it is written, whatever the run's own was: the output shows the verdict of that run.
int run_report_render(const ReportOptions& options, Context& context) {
  const bool is_terminal = context.environment.console.is_terminal_out();
  context.output.prefer(is_terminal ? OutputFormat::table : OutputFormat::html);
  const std::string& path = options.files.front();
  report::Object document = report::read_run_document(path, &context.environment.cancel);
  try {
    context.output.write(document_report(std::move(document)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt_data) throw;
    throw error.with_context(path);
  }
  return exit_done;
}

struct Action {
  const char* name;
  int (*run)(const ReportOptions& options, Context& context);
  std::size_t least_files;
  std::size_t most_files;
  const char* usage;
  std::vector<OutputFormat> formats;  // empty: all
};

const std::vector<Action>& actions() {
  std::vector<OutputFormat> formats = usual_formats;
  formats.insert(formats.end(), {OutputFormat::html, OutputFormat::junit, OutputFormat::prom});
  static const std::vector<Action> list{
      {"compare", run_report_compare, 2, 2, "hiptool report compare OLD NEW", formats},
      {"merge", run_report_merge, 1, SIZE_MAX, "hiptool report merge FILE...", formats},
      {"render", run_report_render, 1, 1, "hiptool report render FILE", {}},
  };
  return list;
}

const Action& find_action(const std::string& word) {
  std::vector<std::string> names;
  for (const Action& action : actions()) names.emplace_back(action.name);
  if (base::lower_case(word).ends_with(".json")) {
    throw usage_error(
        fmt::format("'{}' is not an action of report", word),
        fmt::format("did you mean 'hiptool report render {}'?", base::quoted_for_shell(word)));
  }
  const std::string name = choice_of(word, names, "ACTION");
  return *std::find_if(actions().begin(), actions().end(),
                       [&name](const Action& action) { return action.name == name; });
}

void check_options(const Action& action, const ReportOptions& options, const Output& output) {
  const std::size_t files = options.files.size();
  if (files < action.least_files || files > action.most_files) {
    throw usage_error(files == 0 ? fmt::format("report {} needs a document", action.name)
                                 : fmt::format("report {} does not take {}", action.name,
                                               base::count_of(files, "file")),
                      fmt::format("write it as: {}", action.usage));
  }
  const std::string name = action.name;
  if (!options.compare.effect.empty() && name != "compare") {
    throw usage_error("--effect applies only to report compare", "leave it out");
  }
  if (options.compare.is_strict && name != "compare") {
    throw usage_error("--strict-compare applies only to report compare", "leave it out");
  }
  if (!options.exclude_list.empty() && name != "merge") {
    throw usage_error("--exclude-list applies only to report merge", "leave it out");
  }
  if (action.formats.empty()) return;
  for (const OutputFormat format : output.formats()) {
    const std::string what = "report " + name;
    parse_format(to_string(format), action.formats, what);
  }
}

CommandFiles files_of_report(const ReportOptions& options) {
  CommandFiles files;
  for (const std::string& file : options.files) files.inputs.push_back({file, "the input"});
  files.outputs.push_back({options.exclude_list, "--exclude-list"});
  return files;
}

int run_report(const ReportOptions& options, Context& context) {
  const Action& action = find_action(options.action);
  check_options(action, options, context.output);
  return action.run(options, context);
}

Runner add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  add_required_text(app, "ACTION", "", options->action,
                    OptionHelp("what to do with the files")
                        .with_details("compare: exit 1 if slower; merge: exit 1 for a straggler or "
                                      "a failed run; render: exit 0 once written")
                        .with_values({"compare", "merge", "render"}));
  add_words(app, "FILE", options->files, "JSON documents that hiptool wrote");
  begin_group(app, "Options of compare");
  add_compare_options(app, options->compare, "", "3%, of checks 5%");
  begin_group(app, "Options of merge");
  add_text(app, "--exclude-list", "FILE", options->exclude_list,
           "write the hosts with stragglers, on one line with commas");
  return {[options](Context& context) {
            effect_of(options->compare, base::least_effect);  // a bad one is refused first
            return run_report(*options, context);
          },
          [options](const Environment&) { return files_of_report(*options); }};
}

std::vector<Form> forms_of_report() {
  return {{.name = "compare",
           .arguments = "OLD NEW",
           .summary = "compare two runs; exit 1 if the second is slower",
           .examples = {{"hiptool report compare old.json new.json", "is it slower?"},
                        {"hiptool report compare a.json b.json --effect 1%", "small changes too"}},
           .options = {"--effect", "--strict-compare"}},
          {.name = "merge",
           .arguments = "FILE...",
           .summary = "combine runs of many hosts; exit 1 if one is slow or fails",
           .examples = {{"hiptool report merge out.*.json", "which host is slow"},
                        {"hiptool report merge *.json --exclude-list slow.txt", "for srun -x"}},
           .options = {"--exclude-list"}},
          {.name = "render",
           .arguments = "FILE",
           .summary = "show a run again; exit 0 whatever its verdict was",
           .examples = {{"hiptool report render run.json", "the table again"},
                        {"hiptool report render run.json > run.html", "one page for people"},
                        {"hiptool report render run.json --format gha", "for another tool"}}}};
}

}  // namespace

Command report_command() {
  return {
      .name = "report",
      .summary = "compare, merge or show the results of earlier runs",
      .description =
          "Works on JSON documents that other commands wrote with --export json=FILE or "
          "--format json; it needs no device.\n\n"
          "compare FILE FILE compares two runs measurement by measurement and exits 1 if the "
          "second is slower. merge FILE... combines the runs of many hosts or ranks, names "
          "the slow ones and exits 1 if there are any. render FILE shows the document as a table "
          "on "
          "a terminal, and writes an HTML page into a pipe or a file; --format chooses another.",
      .examples = {{"hiptool report compare old.json new.json", "is it slower? exit 1 if so"},
                   {"hiptool report merge out.*.json", "which of many hosts is slow"},
                   {"hiptool report render run.json", "the table again"},
                   {"hiptool report render run.json > run.html", "one page for people"},
                   {"hiptool report render run.json --format gha", "for another tool"}},
      .formats = all_formats(),
      .add = add_report,
      .forms = forms_of_report(),
  };
}

}  // namespace hiptool::cli
