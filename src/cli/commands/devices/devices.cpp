// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/commands/devices/watch.hpp"
#include "cli/diagnosis.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "machine/inventory.hpp"
#include "machine/selection.hpp"
#include "report/document.hpp"
#include "report/text.hpp"
#include "results/devices/doctor.hpp"
#include "results/devices/inventory.hpp"
#include "results/devices/report.hpp"
#include "results/devices/sensors.hpp"
#include "results/devices/topology.hpp"

namespace hiptool::cli {
namespace {

using machine::DeviceFacts;
using machine::Inventory;

struct DevicesOptions {
  std::string id;                      ///< empty: all devices
  std::optional<std::string> require;  ///< "gpu", "amd" or "nvidia"
  bool doctor = false;
  std::string timeout;
  bool topology = false;
  std::string costs;                 ///< path of a document of bench-copy
  std::optional<std::string> watch;  ///< seconds
};

// The devices requested by name and the platforms they belong to.
Inventory look_up(Platforms& platforms, const machine::DeviceSelection& selection,
                  Context& context) {
  Inventory inventory;
  std::optional<Platform> last;
  for (const Device& device : choose_devices(platforms, selection)) {
    if (last != device.platform()) {
      inventory.platforms.push_back(platforms.status(device.platform()));
    }
    last = device.platform();
    inventory.devices.push_back(
        machine::read_facts(device, context.environment.system_root, *context.notes));
  }
  return inventory;
}

bool is_met(const std::string& requirement, const Inventory& inventory) {
  for (const DeviceFacts& device : inventory.devices) {
    if (requirement == to_string(device.platform)) return true;
    if (requirement == "gpu" && machine::is_gpu(device.platform)) return true;
  }
  return false;
}

Error requirement_error(const std::string& requirement, const Inventory& inventory) {
  std::string message = "no usable device of the required kind '" + requirement + "'";
  std::string hint;
  for (const PlatformStatus& status : inventory.platforms) {
    const bool is_asked = requirement == "gpu" || requirement == to_string(status.platform);
    if (status.usable || !is_asked) continue;
    message += fmt::format("\n{}: {}", to_string(status.platform), status.reason);
    if (hint.empty()) hint = status.hint;
  }
  return Error(ErrorCode::unavailable, "devices", std::move(message), std::move(hint));
}

machine::DeviceSelection selection_of(const DevicesOptions& options, const Context& context) {
  machine::DeviceSelection selection;
  // The environment's default does not filter the list of devices.
  if (context.devices.is_explicit) selection = context.devices;
  if (options.id.empty()) return selection;
  for (std::string& id : parse_device_ids({options.id}, "ID")) {
    selection.ids.push_back(std::move(id));
  }
  return selection;
}

struct Findings {
  Inventory inventory;
  std::optional<std::vector<machine::Check>> checks;  ///< with --doctor
  std::vector<machine::LibraryAnswer> libraries;      ///< with --doctor
  std::optional<results::TopologyFindings> topology;  ///< with --topology
};

// Answers from the child processes, so that no driver is opened here.
machine::AskPeer peers_answered(const std::vector<machine::PeerAnswer>& answers) {
  return [answers](const std::string& from, const std::string& to) -> std::optional<bool> {
    for (const machine::PeerAnswer& answer : answers) {
      if (answer.from == from && answer.to == to) return answer.can_access;
    }
    return {};
  };
}

Findings find_out(const DevicesOptions& options, const machine::DeviceSelection& selection,
                  Context& context) {
  const Environment& environment = context.environment;
  Findings findings;
  environment.console.set_step(options.doctor ? "examining drivers and devices"
                                              : "starting the devices");
  if (options.doctor) {
    machine::DiagnosisOptions doctor = diagnosis_options(context);
    doctor.ids = selection.ids;
    doctor.platform = selection.platform;
    if (!options.timeout.empty()) {
      doctor.patience = machine::ProbePatience::of_seconds(parse_timeout(options.timeout));
    }
    machine::Diagnosis diagnosis = machine::diagnose(doctor, *context.notes, environment.cancel);
    findings.inventory = std::move(diagnosis.inventory);
    findings.checks = std::move(diagnosis.checks);
    findings.libraries = std::move(diagnosis.evidence.libraries);
    if (options.topology) {
      findings.topology = results::find_topology(findings.inventory, environment.system_root,
                                                 peers_answered(diagnosis.evidence.peers));
    }
    return findings;
  }
  const auto platforms = context.make_platforms();
  findings.inventory =
      selection.ids.empty()
          ? machine::take_inventory(*platforms, selection.platform, environment.system_root,
                                    *context.notes, environment.cancel)
          : look_up(*platforms, selection, context);
  machine::SensorReader sensors(environment.system_root, &environment.cancel);
  for (DeviceFacts& device : findings.inventory.devices) sensors.read(device);
  // What was found is whole else, though the program is to stop.
  if (sensors.was_cut_short()) environment.cancel.throw_if_cancelled("devices");
  if (options.topology) {
    findings.topology = results::find_topology(findings.inventory, environment.system_root,
                                               results::peers_of(*platforms));
  }
  return findings;
}

bool has_gpu(const Inventory& inventory) {
  return !inventory.hardware.empty() ||
         std::any_of(inventory.devices.begin(), inventory.devices.end(),
                     [](const DeviceFacts& device) { return machine::is_gpu(device.platform); });
}

bool has_checked_only_host(const Findings& findings) {
  return findings.checks && results::doctor_exit_code(*findings.checks) == exit_done &&
         !has_gpu(findings.inventory);
}

std::optional<Error> failure_of(const DevicesOptions& options, const Findings& findings) {
  if (options.require && !is_met(*options.require, findings.inventory)) {
    return requirement_error(*options.require, findings.inventory);
  }
  if (has_checked_only_host(findings)) {
    return Error(ErrorCode::unavailable, "devices", "no GPU found; only the host was checked",
                 "check with `lspci -nn` whether one is built in");
  }
  return {};
}

void add_checks(const Findings& findings, bool verbose, report::Report& report) {
  const std::vector<machine::Check>& checks = *findings.checks;
  report.csv_tables = {results::checks_table(checks)};
  report.document.emplace_back("checks", report::objects_of(report.csv_tables->front()));
  for (const machine::Check& one : checks) {
    report.checks.push_back({one.id, std::string(to_string(one.severity)), one.device,
                             report::printable_lines(one.read),
                             report::printable_lines(one.expected),
                             report::printable_lines(one.fix)});
  }
  report.verdict.insert(report.verdict.begin(),
                        results::doctor_verdict(checks, has_gpu(findings.inventory)));
  std::vector<report::Line> lines = results::finding_lines(checks, verbose);
  report.notes.insert(report.notes.begin(), lines.begin(), lines.end());
}

constexpr std::size_t few_pairs = 12;  // of four devices

void add_topology(const results::TopologyFindings& topology, bool verbose, report::Report& report) {
  report.document.emplace_back("topology", results::topology_value(topology));
  report.csv_tables = {results::topology_pairs(topology)};
  for (report::Table& table : results::topology_tables(topology))
    report.tables.push_back(std::move(table));
  const std::size_t pairs = topology.pairs.size() + topology.to_nics.size();
  if (pairs > 0 && (verbose || pairs <= few_pairs)) {
    report.tables.push_back(results::topology_pairs(topology));
  }
  const std::vector<report::Line> lines = results::topology_notes(topology);
  report.notes.insert(report.notes.begin(), lines.begin(), lines.end());
}

// The reason of a failed run comes first, and a run that did not pass shows nothing as a success.
void show_failure(const std::optional<Error>& failure, report::Report& report) {
  for (auto* lines : {&report.verdict, &report.notes}) {
    for (report::Line& line : *lines) {
      if (line.tone == report::Tone::good) line.tone = report::Tone::plain;
    }
  }
  if (!failure) return;
  const std::string message = failure->what();
  report.verdict.insert(report.verdict.begin(),
                        {report::Tone::bad, message.substr(0, message.find('\n'))});
}

// `--watch nvidia:0` is without seconds.
void separate_watched_id(DevicesOptions& options) {
  if (!options.watch || !options.id.empty() || base::parse_number<double>(*options.watch)) return;
  options.id = std::exchange(*options.watch, fmt::format("{:g}", usual_watch_s));
}

int watch(const DevicesOptions& options, Context& context) {
  if (options.doctor || options.topology || options.require) {
    throw usage_error("--watch excludes --doctor, --topology and --require",
                      "run them before it, as a command of their own");
  }
  require_lines(context);
  const double interval_s = parse_watch_interval(*options.watch);
  const Findings findings = find_out(options, selection_of(options, context), context);
  return watch_devices(interval_s, findings.inventory, context);
}

// The first line of a table has the reason, which a terminal would show twice.
void print_failure(const Error& failure, Context& context) {
  Console& console = context.environment.console;
  const bool is_seen = console.is_terminal_out() && context.output.format() == OutputFormat::table;
  if (is_seen) {
    print_hint(console, failure);
  } else {
    print_error(console, failure);
  }
}

int run_devices(DevicesOptions options, Context& context) {
  separate_watched_id(options);
  if (!options.timeout.empty() && !options.doctor) {
    throw usage_error("--timeout belongs to --doctor", "give --doctor too");
  }
  if (!options.costs.empty() && !options.topology) {
    throw usage_error("--costs belongs to --topology", "give --topology too");
  }
  if (options.watch) return watch(options, context);
  Environment& environment = context.environment;
  const machine::DeviceSelection selection = selection_of(options, context);
  std::optional<report::RunFile> costs;
  if (!options.costs.empty()) costs = report::read_run_file(options.costs, &environment.cancel);
  Findings findings = find_out(options, selection, context);
  if (costs) results::add_costs(*costs, environment.system_root, *findings.topology);
  const Inventory& inventory = findings.inventory;

  const std::optional<Error> failure = failure_of(options, findings);
  report::Run run = make_run(environment, "devices", "ok");
  const int exit_code = finish_run(run, environment, failure ? &*failure : nullptr,
                                   findings.checks ? results::doctor_failures(*findings.checks)
                                                   : std::vector<report::Failure>());
  report::Report report = report::start_report(std::move(run));
  const bool is_one = selection.ids.size() == 1 && inventory.devices.size() == 1;
  results::add_inventory(inventory,
                         {.is_one_in_full = is_one,
                          .is_verbose = context.verbose,
                          .has_state = !findings.topology && !findings.checks,
                          .has_unicode = environment.console.has_unicode(),
                          .root = environment.system_root},
                         report);
  if (findings.topology) add_topology(*findings.topology, context.verbose, report);
  if (findings.checks) {
    add_checks(findings, context.verbose, report);
    report.document.emplace_back("libraries",
                                 report::objects_of(results::libraries_table(findings.libraries)));
  }
  if (!failure && !inventory.devices.empty()) report.notes.push_back(results::next_step());
  if (exit_code != exit_done) show_failure(failure, report);
  context.output.write(report);
  if (failure) print_failure(*failure, context);
  return exit_code;
}

Runner add_devices(CLI::App& app) {
  auto options = std::make_shared<DevicesOptions>();
  add_text(app, "ID", "", options->id, "one device: nvidia:0, amd:1, cpu, a uuid or PCI bus id");
  begin_group(app, "What to show");
  add_flag(app, "--doctor", options->doctor,
           OptionHelp("examine drivers, links, memory and limits")
               .with_details("exit 1 if a check fails; CSV is the table of checks, also with "
                             "--topology"));
  add_flag(app, "--topology", options->topology,
           OptionHelp("show how devices and network cards are connected")
               .with_details("with NUMA nodes, CPUs and PCIe paths; CSV is the table of pairs"));
  add_optional_text(app, "--watch", "SECONDS", options->watch, fmt::format("{:g}", usual_watch_s),
                    OptionHelp("show temperature, power and memory every SECONDS")
                        .with_details("also processes; on a terminal until q or Ctrl-C, in a pipe "
                                      "a line for each device and time")
                        .with_default(fmt::format("{:g}", usual_watch_s)));
  begin_group(app, "Limits and inputs");
  add_choice(app, "--require", "KIND", options->require, {"gpu", "amd", "nvidia"},
             "exit 3 unless such a device is usable");
  add_text(app, "--timeout", "SECONDS", options->timeout,
           OptionHelp("with --doctor: time limit of each driver")
               .with_details("after which it is reported as hung")
               .with_default("4.5"));
  add_text(
      app, "--costs", "FILE", options->costs,
      OptionHelp("with --topology: add the rates and latencies in FILE")
          .with_details("a JSON document of bench-copy; by kind of link and by NUMA distance"));
  return {[options](Context& context) { return run_devices(*options, context); },
          [options](const Environment&) {
            return CommandFiles{{{options->costs, "--costs"}}, {}};
          }};
}

}  // namespace

Command devices_command() {
  return {
      .name = "devices",
      .summary = "list usable devices, and why others are not",
      .description =
          "Lists the devices that can be used, and for each platform that cannot be used the "
          "reason and the next step. With an id it shows all properties of one device.\n\n"
          "The exit code is 0 whenever the list could be made, also without a GPU; --require "
          "makes a missing device an error. --doctor examines drivers, links, permissions and "
          "limits and proposes a fix for each finding. --topology shows how devices, network "
          "cards and NUMA nodes are connected. --watch shows temperature, power, memory and "
          "processes until it is stopped.",
      .examples = {{"hiptool devices", "usable devices"},
                   {"hiptool devices nvidia:0", "everything about one device"},
                   {"hiptool devices --doctor", "diagnose GPUs and drivers"},
                   {"hiptool devices --topology", "connections between devices"},
                   {"hiptool devices --watch", "temperature, power, memory; q quits"},
                   {"hiptool devices --format json", "for programs"},
                   {"hiptool devices --require gpu", "exit 3 without a usable GPU"}},
      .formats = usual_formats,
      .export_formats = {OutputFormat::html, OutputFormat::junit, OutputFormat::prom},
      .usual_devices = "all devices",
      .add = add_devices,
  };
}

}  // namespace hiptool::cli
