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
#include "cli/notes.hpp"
#include "cli/output.hpp"

namespace CLI {
class App;
}

namespace hiptool::cli {

/// What a command gets besides its own options.
struct Context {
  Environment& environment;
  Output& output;
  DeviceSelection devices;
  std::shared_ptr<NoteCollector> notes;
  bool quiet = false;
  bool verbose = false;

  /// The platforms, none of them opened yet.
  std::unique_ptr<Platforms> make_platforms() const;
};

/// What a command's options name besides --export.
struct CommandFiles {
  std::vector<NamedFile> inputs;
  std::vector<NamedFile> outputs;
};

/// A command whose options were parsed.
struct Runner {
  /// Gives back the exit code of the verdict and throws Error for everything that went wrong.
  std::function<int(Context&)> run;
  /// The files of this run, asked for before any output is opened; null: none. Skips values that
  /// `run` refuses.
  std::function<CommandFiles(const Environment&)> files = nullptr;
};

struct Example {
  std::string line;     ///< "hiptool devices"
  std::string purpose;  ///< "what can compute here"
};

/// A subcommand. Each lives in one file of commands/ with an options struct, an add function that
/// declares the options and binds them to the run function, and that run function.
struct Command {
  std::string name;
  std::string summary;
  std::vector<Example> examples;
  std::vector<OutputFormat> formats;              ///< that its report can be written in
  std::vector<OutputFormat> export_formats = {};  ///< that only --export writes, besides those
  bool takes_devices = false;
  bool has_own_format = false;  ///< its --format means something else than the output's
  Runner (*add)(CLI::App& app) = nullptr;
};

}  // namespace hiptool::cli
