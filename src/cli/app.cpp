// SPDX-License-Identifier: MIT
#include "cli/app.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cli/command_tree.hpp"
#include "cli/commands/child_commands.hpp"
#include "cli/distinct_files.hpp"
#include "cli/document.hpp"
#include "cli/early_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/help/help.hpp"
#include "cli/help/man_pages.hpp"
#include "cli/help/version_text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/heartbeat.hpp"
#include "cli/process/rank.hpp"
#include "cli/process/visible_devices.hpp"
#include "hip/patient_sensors.hpp"
#include "machine/selection.hpp"

namespace hiptool::cli {
namespace {

struct Session {
  Environment& environment;
  EarlyOptions early;
  std::shared_ptr<NoteCollector> notes = std::make_shared<NoteCollector>();
  std::optional<Output> output = std::nullopt;
  bool verbose = false;
};

void show_help(const Request& request, CommandTree& tree, const Environment& environment) {
  Console& console = environment.console;
  const HelpStyle style{console.width_out(), console.has_color_out(), !request.is_whole};
  if (request.command != nullptr) {
    CommandDoc doc = describe(tree).command(request.command->name);
    if (const Form* const form = find_form(*request.command, request.form)) {
      doc = describe_form(doc, *form);
    }
    console.out(command_help_text(doc, style));
  } else if (request.topic.empty() || request.topic == "help") {
    console.out(overview_text(describe(tree), style));
  } else if (request.topic == "reference") {
    console.out(reference_text(describe(tree)));
  } else if (request.topic == "man") {
    console.out(man_page_text(describe(tree), request.page, manual_date(environment.getenv)));
  } else {
    const std::string text = topic_text(request.topic);
    if (text.empty()) throw unknown_topic(tree, request.topic);
    console.out(text);
  }
}

// Formats that go to files alone lead to --export.
OutputFormat parse_format_of(const Command& command, const std::string& word) {
  try {
    return parse_format(word, command.formats, "--format");
  } catch (const Error& error) {
    for (const OutputFormat format : command.export_formats) {
      if (!base::equals_ignoring_case(word, to_string(format))) continue;
      throw error.with_hint(
          fmt::format("write it to a file with --export {}=FILE", to_string(format)));
    }
    throw;
  }
}

std::optional<OutputFormat> choose_format(const Command& command, const CommonOptions& common,
                                          const Environment& environment) {
  if (!common.format.empty()) return parse_format_of(command, common.format);
  const std::string preset = environment.getenv("HIPTOOL_FORMAT").value_or("");
  if (!preset.empty()) return parse_format(preset, command.formats, "HIPTOOL_FORMAT");
  return std::nullopt;
}

std::vector<Export> choose_exports(const Command& command, const CommonOptions& common,
                                   const Environment& environment) {
  std::vector<OutputFormat> formats = command.formats;
  formats.insert(formats.end(), command.export_formats.begin(), command.export_formats.end());
  std::vector<Export> exports;
  for (const std::string& text : common.exports) exports.push_back(parse_export(text, formats));
  for (Export& one : exports) {
    one.path = name_for_this_rank(one.path, environment, common.quiet);
  }
  return exports;
}

machine::DeviceSelection select_devices(const Command& command, const CommonOptions& common,
                                        const Environment& environment) {
  machine::DeviceSelection selection;
  selection.is_explicit = !common.devices.empty() || common.platform.has_value();
  if (command.usual_devices.empty()) {
    if (!selection.is_explicit) return selection;
    throw usage_error(command.name + " does not use a device", "remove --device and --platform");
  }
  if (common.platform) selection.platform = parse_platform(*common.platform);
  selection.ids = parse_device_ids(common.devices, "--device");
  const std::string preset = environment.getenv("HIPTOOL_DEVICE").value_or("");
  if (!selection.is_explicit && !preset.empty()) {
    selection.ids = parse_device_ids({preset}, "HIPTOOL_DEVICE");
  }
  return selection;
}

// Before any thread starts: setenv() is not safe while another thread calls getenv().
void hide_other_devices(machine::DeviceSelection& selection, const Environment& environment) {
  constexpr const char* variable = "CUDA_VISIBLE_DEVICES";
  if (!environment.setenv) return;
  auto limited =
      limit_visible_devices(selection, environment.getenv(variable), environment.system_root);
  if (!limited) return;
  environment.setenv(variable, limited->variable);
  selection.nvidia_ordinals = std::move(limited->ordinals);
}

int run_command(const Command& command, const CommandTree& tree, Session& session) {
  Environment& environment = session.environment;
  const CommonOptions& common = tree.common();
  check_option_rules(command.rules, tree.given(command));
  const std::optional<OutputFormat> format = choose_format(command, common, environment);
  const std::vector<Export> exports = choose_exports(command, common, environment);
  const Runner& runner = tree.runner(command);
  CommandFiles files = runner.files ? runner.files(environment) : CommandFiles();
  for (const Export& one : exports) {
    files.outputs.push_back({one.path, "--export " + std::string(to_string(one.format))});
  }
  require_distinct_files(files.outputs, files.inputs);
  if (!files.force) require_replaceable(files.outputs);
  machine::DeviceSelection devices = select_devices(command, common, environment);
  if (runner.needs_selected_devices_only && runner.needs_selected_devices_only()) {
    hide_other_devices(devices, environment);
  }
  session.output.emplace(environment.console, format, exports);
  Context context{environment,  *session.output, std::move(devices),       session.notes,
                  common.quiet, common.verbose,  std::move(files.outputs), tree.given(command)};
  std::optional<Heartbeat> heartbeat;
  if (environment.has_heartbeat && !common.quiet) {
    heartbeat.emplace(environment.console, environment.cancel, "hiptool " + command.name);
  }
  const int exit_code = runner.run(context);
  if (hip::has_left_sensors() && !common.quiet) {
    environment.console.err("warning: " + std::string(hip::sensors_hang) +
                            ", so clocks, temperatures and throttling are missing: see `sudo dmesg "
                            "| tail -n 50`\n");
  }
  return exit_code;
}

int dispatch(int argc, const char* const* argv, Session& session) {
  if (const auto exit_code = run_child_command(argc, argv, session.environment)) {
    return *exit_code;
  }
  Console& console = session.environment.console;
  CommandTree tree;
  const Request request = parse(tree, argc, argv);
  session.verbose = tree.common().verbose;
  switch (request.kind) {
    case Request::Kind::help: show_help(request, tree, session.environment); break;
    case Request::Kind::version: console.out(version_text(session.environment)); break;
    case Request::Kind::command: return run_command(*request.command, tree, session);
  }
  return exit_done;
}

// Writes the error to err, and as a document to out and the exports where they were requested, so
// that an exported file is never the one of an earlier run.
int report_failure(const Error& error, Session& session) {
  Environment& environment = session.environment;
  print_error(environment.console, error);
  if (session.output && session.output->has_written()) {
    return exit_code_of(error.code(), environment.signal());
  }
  const report::Report report = failure_report(environment, session.early.command, error);
  try {
    const auto format = session.output ? session.output->format() : OutputFormat::table;
    // People have read the error; JSON is written below, where --format may be what was wrong.
    if (format != OutputFormat::table && format != OutputFormat::json) {
      session.output->write(report);
    } else if (session.output) {
      session.output->write_exports(report);
    }
  } catch (const std::exception& exception) {
    const Error second = as_error(exception);
    if (std::string_view(second.what()) != error.what()) print_error(environment.console, second);
  }
  if (session.early.wants_json) environment.console.out(report::to_json(report));
  return exit_code_of(error.code(), environment.signal());
}

}  // namespace

int run(int argc, const char* const* argv, Environment& environment) {
  environment.getenv = without_empty(std::move(environment.getenv));
  Session session{environment, read_early_options(argc, argv, environment.getenv)};
  environment.console.set_color_mode(session.early.color);
  int exit_code = exit_done;
  try {
    exit_code = dispatch(argc, argv, session);
  } catch (const std::exception& exception) {
    exit_code = report_failure(as_error(exception), session);
  }
  if (session.output) exit_code = session.output->finish(exit_code);
  session.notes->print(environment.console, session.verbose);
  environment.has_left_threads = environment.has_left_threads || hip::has_left_sensors();
  return environment.console.finish(exit_code);
}

}  // namespace hiptool::cli
