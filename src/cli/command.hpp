// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/device_option.hpp"
#include "cli/distinct_files.hpp"
#include "cli/environment.hpp"
#include "cli/option_rules.hpp"
#include "cli/output/notes.hpp"
#include "cli/output/output.hpp"
#include "hiptool/model_file.hpp"
#include "machine/selection.hpp"

namespace CLI {
class App;
}

namespace hiptool::cli {

/// What every command gets in addition to its own options.
struct Context {
  Environment& environment;
  Output& output;
  machine::DeviceSelection devices;
  std::shared_ptr<NoteCollector> notes;
  bool quiet = false;
  bool verbose = false;
  std::vector<NamedFile> outputs = {};  ///< all of this run, with the exports
  std::vector<GivenOption> given = {};  ///< the options and arguments of this run

  /// Throws FilesCollide, and leaves the files of exports alone, if an output of this run is one of
  /// these files or another output.
  void require_apart(const std::vector<NamedFile>& files) const;

  /// Opens a model as cli::open_model() does. Throws as require_apart() if an output of this run
  /// would replace a file of the model, also of one that cannot be opened. Every command opens its
  /// models with this.
  ModelFile open_model(const std::string& path, const ModelOptions& options) const;

  /// The platforms, none of them opened yet.
  std::unique_ptr<Platforms> make_platforms() const;

  /// The selected devices, which documents of this run then name.
  std::vector<Device> choose_devices(Platforms& platforms) const;
};

/// The files that a command's own options name; --export is not among them.
struct CommandFiles {
  std::vector<NamedFile> inputs;
  std::vector<NamedFile> outputs;
  bool force = false;  ///< outputs may replace files of other kinds
};

/// A command whose options were parsed.
struct Runner {
  /// Returns the exit code of the verdict; throws Error if the run failed.
  std::function<int(Context&)> run;
  /// The files of this run, requested before any output is opened; null: none. Ignores values that
  /// `run` rejects.
  std::function<CommandFiles(const Environment&)> files = nullptr;
  /// Whether this run needs the selected devices only, so that the others may be hidden from the
  /// driver; null: no.
  std::function<bool()> needs_selected_devices_only = nullptr;
};

struct Example {
  std::string line;     ///< "hiptool devices"
  std::string purpose;  ///< "list usable GPUs"
};

/// What the first argument of a command chooses, with a help of its own: "report compare".
struct Form {
  std::string name;       ///< the value of the argument: "compare"
  std::string arguments;  ///< the further ones: "OLD NEW"
  std::string summary;
  std::vector<Example> examples;
  std::vector<std::string> options =
      {};  ///< of the command's options, those that it takes: "--effect"
};

/// Words that complete the values of an option ("--dtype") or argument ("NAME"). Others may be
/// accepted; for an option with a LIST, several are joined by commas.
struct CompletionWords {
  std::string name;
  std::vector<std::string> words;
};

/// A subcommand: a file or folder of commands/ with an options struct, an add function that
/// declares the options and binds them to the run function, and that run function.
struct Command {
  std::string name;
  std::string summary;
  std::string description;  ///< paragraphs of its manual page, with an empty line between them
  std::vector<Example> examples;
  std::vector<OutputFormat> formats;              ///< of its report
  std::vector<OutputFormat> export_formats = {};  ///< available to --export only
  std::string usual_devices = {};  ///< without --device: "largest GPU"; empty: it takes none
  bool has_own_format = false;     ///< its --format is not the one of the output
  Runner (*add)(CLI::App& app) = nullptr;
  std::vector<OptionRule> rules = {};  ///< of its options, checked before it runs
  std::vector<CompletionWords> (*completion_words)() = nullptr;
  /// Groups of options of which the short help has only the names, for most people need none.
  std::vector<std::string> condensed = {};
  std::vector<Form> forms = {};  ///< empty: its first argument chooses none
};

/// Formats that a report of any kind has a writer for.
inline const std::vector<OutputFormat> usual_formats{OutputFormat::table, OutputFormat::json,
                                                     OutputFormat::csv, OutputFormat::markdown};
/// Those for --export of measurements.
inline const std::vector<OutputFormat> benchmark_formats{
    OutputFormat::html, OutputFormat::svg,   OutputFormat::gbench, OutputFormat::gha,
    OutputFormat::bmf,  OutputFormat::junit, OutputFormat::prom};

// Each is defined in commands/.
Command bench_copy_command();
Command check_command();
Command completion_command();
Command devices_command();
Command inspect_command();
Command load_command();
Command prove_command();
Command make_model_command();
Command report_command();
Command run_kernel_command();

/// Names devices in the documents of this run.
void note_devices(Environment& environment, Platforms& platforms,
                  const std::vector<Device>& devices);

/// All subcommands in the order of the help.
const std::vector<Command>& commands();

/// The command of that name, or null.
const Command* find_command(std::string_view name);

/// The form of that name in any case, or null.
const Form* find_form(const Command& command, std::string_view name);

}  // namespace hiptool::cli
