// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/error.hpp"
#include "report/text.hpp"
#include "results/model/facts.hpp"

namespace hiptool::cli {
namespace {

struct InspectOptions : results::InspectionLists {
  std::vector<std::string> paths;
  bool chat_template = false;  ///< print only the chat template
  bool strict = false;
  bool opaque = false;
};

using report::Tone;

bool prints_value(const InspectOptions& options) {
  return options.chat_template || !options.key.empty();
}

void check_inspect_options(const InspectOptions& options) {
  if (options.paths.empty()) {
    throw usage_error("inspect needs a model file",
                      "name one or more, for example `hiptool inspect model.gguf`");
  }
  if (options.chat_template && !options.key.empty()) {
    throw usage_error("--chat-template and --key each print one value", "leave out one of them");
  }
  if (prints_value(options) && (options.metadata || options.tensors)) {
    throw usage_error("--chat-template and --key print nothing but one value",
                      "leave out --metadata and --tensors");
  }
  if (prints_value(options) && options.paths.size() > 1) {
    throw usage_error("--chat-template and --key are for one model at a time", "name one model");
  }
}

// All shards of a set lead to the same model, which is shown once.
bool is_known_set(const ModelFile& model, const results::Inspection& inspection) {
  if (model.files().size() < 2) return false;
  return std::any_of(inspection.models.begin(), inspection.models.end(),
                     [&](const results::ModelFacts& known) {
                       return known.model.files().front().path == model.files().front().path;
                     });
}

results::Inspection read_models(const InspectOptions& options, const Context& context) {
  results::Inspection inspection;
  for (const std::string& path : options.paths) {
    context.environment.cancel.throw_if_cancelled("inspect");
    const std::size_t read = inspection.models.size() + inspection.refusals.size();
    context.environment.console.set_step("reading models",
                                         fmt::format("{} of {} read", read, options.paths.size()));
    try {
      const ModelFile model = context.open_model(path, {options.strict, options.opaque});
      if (!is_known_set(model, inspection))
        inspection.models.push_back(results::read_facts(path, model));
    } catch (const FilesCollide&) {
      throw;
    } catch (const Error& error) {
      inspection.refusals.push_back({path, error});
    }
  }
  return inspection;
}

// A file that cannot be read outranks a path that names several models.
const Error* worst_of(const std::vector<results::ModelRefusal>& refusals) {
  const auto severity = [](const results::ModelRefusal& refusal) {
    return severity_of(exit_code_of(refusal.error.code()));
  };
  return refusals.empty() ? nullptr : &std::ranges::max_element(refusals, {}, severity)->error;
}

void add_warning_notes(const results::ModelFacts& facts, const std::string& prefix,
                       report::Report& report) {
  if (facts.model.path() != facts.path) {
    report.notes.push_back(
        {Tone::plain, "found " + facts.path + " at " + facts.model.path().string()});
  }
  const auto add = [&](const std::string& warning) {
    report.notes.push_back({Tone::warning, "warning: " + prefix + warning});
  };
  for (const std::string& warning : facts.model.warnings()) add(warning);
  for (const std::string& warning : facts.summary.warnings) add(warning);
  for (const std::string& warning : facts.tokenizer.warnings) add(warning);
}

void add_details(const results::ModelFacts& facts, const InspectOptions& options,
                 const Console& console, report::Report& report) {
  if (options.metadata) {
    report.tables.push_back(
        results::metadata_table(facts, console.width_out(), console.has_unicode()));
  }
  if (options.tensors) report.tables.push_back(results::tensors_table(facts));
}

void show_model(const results::ModelFacts& facts, const InspectOptions& options,
                const Console& console, report::Report& report) {
  report.verdict = {{Tone::good, facts.name + ": " + results::summary_text(facts)}};
  report.tables.push_back(results::facts_table(facts, console.has_unicode()));
  if (facts.model.files().size() > 1) report.tables.push_back(results::files_table(facts));
  if (!facts.model.tensors().empty()) {
    report.tables.push_back(results::inspected_types_table(facts));
    report.tables.push_back(results::layers_table(facts));
  }
  add_details(facts, options, console, report);
  add_warning_notes(facts, "", report);
}

void show_models(const results::Inspection& inspection, const InspectOptions& options,
                 const Console& console, report::Report& report) {
  constexpr std::size_t most_named = 3;
  std::uint64_t file_bytes = 0;
  for (const results::ModelFacts& facts : inspection.models) file_bytes += facts.model.file_bytes();
  const std::string read =
      base::count_of(inspection.models.size(), "model") + ", " + format_size(file_bytes);
  if (inspection.refusals.empty()) {
    report.verdict = {{Tone::good, read}};
  } else {
    std::vector<std::string> paths;
    for (const results::ModelRefusal& refusal : inspection.refusals) paths.push_back(refusal.path);
    report.verdict = {{Tone::bad, fmt::format("{} of {} could not be read: {}", paths.size(),
                                              base::count_of(options.paths.size(), "model"),
                                              base::first_of(paths, most_named))}};
  }
  if (!inspection.models.empty()) report.tables.push_back(results::models_table(inspection.models));
  for (const results::ModelFacts& facts : inspection.models) {
    const std::size_t first = report.tables.size();
    add_details(facts, options, console, report);
    for (std::size_t i = first; i < report.tables.size(); ++i) {
      report.tables[i].title += " of " + facts.name;
    }
    add_warning_notes(facts, facts.name + ": ", report);
  }
}

report::Report make_inspect_report(report::Run run, const results::Inspection& inspection,
                                   const InspectOptions& options, const Context& context) {
  // The list of a million tensors takes a GB in each form, so that only those are made that are
  // written.
  const std::vector<OutputFormat> formats = context.output.formats();
  const auto options_for = [&](std::initializer_list<OutputFormat> readers) {
    InspectOptions shown = options;
    shown.tensors = options.tensors && std::any_of(readers.begin(), readers.end(), [&](auto one) {
                      return base::contains(formats, one);
                    });
    return shown;
  };
  report::Report report = report::start_report(std::move(run));
  const auto model_document = [&](const results::ModelFacts& facts) {
    return results::model_document(facts, options_for({OutputFormat::json}));
  };
  report.document.emplace_back("models", report::array_of(inspection.models, model_document));
  report.document.emplace_back("refused",
                               report::array_of(inspection.refusals, results::refusal_document));
  // JSON has the tables too, for `report render`.
  const InspectOptions of_tables = options_for(
      {OutputFormat::table, OutputFormat::json, OutputFormat::markdown, OutputFormat::html});
  const Console& console = context.environment.console;
  if (inspection.models.size() == 1 && options.paths.size() == 1) {
    show_model(inspection.models.front(), of_tables, console, report);
  } else {
    show_models(inspection, of_tables, console, report);
  }
  // In JSON too, for `report render`.
  if (base::contains(formats, OutputFormat::csv) || base::contains(formats, OutputFormat::json)) {
    report.csv_tables = results::inspection_csv(inspection, options);
  }
  return report;
}

// The one value that was asked for: exact in a pipe or file, safe on a terminal.
std::string requested_text(const results::ModelFacts& facts, const InspectOptions& options,
                           bool is_exact) {
  if (!options.key.empty()) return results::value_text(facts, options.key, is_exact);
  if (facts.tokenizer.templates.empty()) {
    throw Error(ErrorCode::not_found, "inspect", facts.path + " has no chat template",
                "models without one are prompted with plain text");
  }
  const std::string& text = facts.tokenizer.templates.front().text;
  return (is_exact ? text : report::printable_lines(text)) + (text.ends_with('\n') ? "" : "\n");
}

int run_inspect(const InspectOptions& options, Context& context) {
  check_inspect_options(options);
  Environment& environment = context.environment;
  const results::Inspection inspection = read_models(options, context);
  const Error* error = worst_of(inspection.refusals);
  std::optional<std::string> text;  // before anything is written: there may be no such value
  if (prints_value(options) && error == nullptr) {
    text =
        requested_text(inspection.models.front(), options, !environment.console.is_terminal_out());
  }
  report::Run run = make_run(environment, "inspect", "ok");
  const int exit_code = finish_run(run, environment, error);
  const report::Report report = make_inspect_report(std::move(run), inspection, options, context);
  for (const results::ModelRefusal& refusal : inspection.refusals) {
    print_error(environment.console, refusal.error);
  }
  const bool is_table = context.output.format() == OutputFormat::table;
  if (inspection.models.empty() && is_table) {
    context.output.write_exports(report);
  } else if (text && is_table) {
    context.output.write_exports(report);
    environment.console.out(*text);
  } else {
    context.output.write(report);
  }
  return exit_code;
}

CommandFiles files_of_inspect(const InspectOptions& options) {
  CommandFiles files;
  for (const std::string& path : options.paths) files.inputs.push_back({path, "the model"});
  return files;
}

Runner add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  add_words(app, "MODEL", options->paths,
            OptionHelp("model files, folders, or names in a local cache")
                .with_details("also shards, indexes, blobs or manifests of Ollama or Docker; names "
                              "such as org/name or llama3.2:1b"));
  add_flag(app, "--metadata", options->metadata, "list every metadata key, arrays shortened");
  add_text(app, "--key", "NAME", options->key,
           OptionHelp("print only the value of this metadata key")
               .with_details("an array whole, with one element on each line"));
  add_flag(app, "--chat-template", options->chat_template, "print only the chat template");
  add_flag(app, "--tensors", options->tensors, "list every tensor");
  add_flag(app, "--strict", options->strict, "reject files that violate their specification");
  add_flag(app, "--opaque", options->opaque, "accept tensors of unknown type");
  return {[options](Context& context) { return run_inspect(*options, context); },
          [options](const Environment&) { return files_of_inspect(*options); }};
}

}  // namespace

Command inspect_command() {
  return {
      .name = "inspect",
      .summary = "show what is in a model file; needs no device",
      .description =
          "Reads the headers of model files (GGUF or safetensors; a shard, an index, a "
          "folder, a Hugging Face snapshot or an Ollama model) and shows architecture, number "
          "of parameters, element types, dimensions, tokenizer, licence and sizes. No driver "
          "is opened and no tensor data is read.\n\n"
          "Several models give one row each. Files that cannot be read are listed with the "
          "reason, and the exit code is 4.",
      .examples = {{"hiptool inspect model.gguf", "what is in the file"},
                   {"hiptool inspect *.gguf", "several models, one row each"},
                   {"hiptool inspect m.gguf --metadata", "every key, arrays shortened"},
                   {"hiptool inspect m.gguf --key general.license", "one value, whole"},
                   {"hiptool inspect m.gguf --chat-template", "the whole template"},
                   {"hiptool inspect m.gguf --tensors --format csv", "a row for each tensor"}},
      .formats = usual_formats,
      .export_formats = {OutputFormat::html, OutputFormat::junit, OutputFormat::prom},
      .add = add_inspect,
      .rules = {{"--chat-template",
                 {},
                 {OptionUse{"--format", {"json", "csv", "markdown"}}},
                 {},
                 "--chat-template prints only the text, not a document",
                 "leave out --format; JSON has the templates without --chat-template"}},
  };
}

}  // namespace hiptool::cli
