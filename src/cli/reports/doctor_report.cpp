// SPDX-License-Identifier: MIT
#include "cli/reports/doctor_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/output/text.hpp"
#include "hiptool/error.hpp"
#include "machine/doctor/probe.hpp"
#include "system/numa.hpp"

namespace hiptool::cli {
namespace {

using machine::Check;
using machine::DeviceFacts;
using machine::Inventory;
using machine::Severity;

DeviceFacts facts_of(const machine::DoctorGpu& gpu, const std::filesystem::path& root) {
  DeviceFacts facts;
  facts.id = gpu.id;
  facts.platform = gpu.platform;
  const auto colon = gpu.id.find(':');
  if (colon != std::string::npos) {
    facts.ordinal = base::parse_number<int>(std::string_view(gpu.id).substr(colon + 1)).value_or(0);
  }
  facts.info = gpu.info;
  facts.memory = gpu.memory;
  read_pci(root, facts);
  facts.sensors_source = gpu.sensor_source;
  facts.sensors_missing = gpu.sensor_reason;
  if (!gpu.sensor_source.empty()) facts.sensors = gpu.sensors;
  return facts;
}

bool is_named(const DeviceFacts& device, const std::string& text) {
  if (text == "all") return device.platform != Platform::cpu;
  if (device.id == text || device.id == text + ":0") return true;
  if (device.info.uuid && base::equals_ignoring_case(*device.info.uuid, text)) return true;
  const std::string bus_id = system::normalize_bus_id(text);
  return !bus_id.empty() && device.pci && device.pci->bus_id == bus_id;
}

// Keeps the requested devices of those found.
void keep_selected(const DeviceSelection& selection, Diagnosis& diagnosis) {
  if (selection.ids.empty()) return;
  std::vector<DeviceFacts>& devices = diagnosis.inventory.devices;
  for (const std::string& id : selection.ids) {
    if (id == "all" || std::any_of(devices.begin(), devices.end(), [&](const DeviceFacts& device) {
          return is_named(device, id);
        })) {
      continue;
    }
    throw Error(ErrorCode::unavailable, "devices", "no usable device " + id,
                "see `hiptool devices --doctor` without it");
  }
  const auto is_chosen = [&](const DeviceFacts& device) {
    return std::any_of(selection.ids.begin(), selection.ids.end(),
                       [&](const std::string& id) { return is_named(device, id); });
  };
  std::erase_if(devices, [&](const DeviceFacts& device) { return !is_chosen(device); });
  const auto is_kept = [&](const std::string& id) {
    return std::any_of(devices.begin(), devices.end(),
                       [&](const DeviceFacts& device) { return device.id == id; });
  };
  std::erase_if(diagnosis.evidence.gpus, [&](const auto& gpu) { return !is_kept(gpu.id); });
  std::erase_if(diagnosis.evidence.peers,
                [&](const auto& peer) { return !is_kept(peer.from) || !is_kept(peer.to); });
}

void take_libraries(machine::ProbeResult& result, Diagnosis& diagnosis) {
  std::move(result.libraries.begin(), result.libraries.end(),
            std::back_inserter(diagnosis.evidence.libraries));
}

void take_results(std::vector<machine::ProbeResult> results, Diagnosis& diagnosis) {
  for (machine::ProbeResult& result : results) {
    take_libraries(result, diagnosis);
    if (result.answer.status.platform == Platform::cpu) continue;  // its devices need no child
    diagnosis.inventory.platforms.push_back(result.answer.status);
    diagnosis.evidence.platforms.push_back(std::move(result.answer));
    for (machine::DoctorGpu& gpu : result.gpus) {
      if (!gpu.id.empty())
        diagnosis.inventory.devices.push_back(facts_of(gpu, diagnosis.evidence.root));
      diagnosis.evidence.gpus.push_back(std::move(gpu));
    }
    std::move(result.peers.begin(), result.peers.end(),
              std::back_inserter(diagnosis.evidence.peers));
  }
}

std::vector<machine::ProbeResult> probe(const std::vector<Platform>& platforms,
                                        const machine::ProbePatience& patience, Context& context) {
  Environment& environment = context.environment;
  machine::ProbeOptions options;
  options.root = environment.system_root;
  if (!environment.program.empty()) {
    return machine::probe_in_children(environment.program, platforms, options, patience,
                                      environment.cancel);
  }
  std::vector<machine::ProbeResult> results;
  const auto opened = context.make_platforms();
  for (const Platform platform : platforms) {
    results.push_back(machine::probe_here(*opened, platform, options));
  }
  return results;
}

std::size_t count_of(const std::vector<Check>& checks, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [severity](const Check& check) { return check.severity == severity; }));
}

std::string ids_of(const std::vector<Check>& checks, Severity severity) {
  std::vector<std::string> ids;
  for (const Check& check : checks) {
    if (check.severity == severity) add_once(ids, check.id);
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

report::Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::pass: return report::Tone::good;
    case Severity::warn: return report::Tone::warning;
    case Severity::fail: return report::Tone::bad;
    case Severity::info:
    case Severity::unknown: break;
  }
  return report::Tone::plain;
}

void add_in_full(const Check& check, bool verbose, std::vector<report::Line>& lines) {
  lines.push_back({tone_of(check.severity),
                   std::string(to_string(check.severity)) + " " + check.id + ": " + check.read});
  if (!check.fix.empty()) lines.push_back({report::Tone::plain, "  fix: " + check.fix});
  if (!verbose) return;
  std::string text = "  read from " + check.source;
  if (!check.expected.empty()) text += "; expected: " + check.expected;
  lines.push_back({report::Tone::plain, std::move(text)});
}

void add_unknown(const std::vector<Check>& checks, std::vector<report::Line>& lines) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const Check& check : checks) {
    if (check.severity != Severity::unknown) continue;
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& reason) { return reason.first == check.read; });
    if (same == reasons.end()) {
      reasons.emplace_back(check.read, check.id);
    } else {
      same->second += ", " + check.id;
    }
  }
  for (const auto& [reason, ids] : reasons) {
    lines.push_back({report::Tone::plain, "unknown " + ids + ": " + reason});
  }
}

}  // namespace

Diagnosis diagnose(const DeviceSelection& selection, const machine::ProbePatience& patience,
                   Context& context) {
  Environment& environment = context.environment;
  Diagnosis diagnosis;
  machine::Evidence& evidence = diagnosis.evidence;
  evidence.root = environment.system_root;
  evidence.getenv = environment.getenv;
  evidence.allowed_cpus = system::allowed_cpus();
  std::vector<Platform> asked;
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    if (!selection.platform || *selection.platform == platform) asked.push_back(platform);
  }
  const bool has_cpu = !selection.platform || *selection.platform == Platform::cpu;
  std::vector<Platform> probed = asked;
  if (has_cpu && !environment.program.empty()) probed.push_back(Platform::cpu);
  take_results(probe(probed, patience, context), diagnosis);
  for (system::PciDevice& gpu : system::list_gpus(evidence.root)) {
    const Platform platform = gpu.vendor == system::vendor_amd ? Platform::amd : Platform::nvidia;
    if (std::find(asked.begin(), asked.end(), platform) == asked.end()) continue;
    diagnosis.inventory.hardware.push_back(std::move(gpu));
  }
  if (has_cpu) {
    const auto platforms = context.make_platforms();
    Inventory cpu = machine::take_inventory(*platforms, Platform::cpu, evidence.root,
                                            *context.notes, environment.cancel);
    diagnosis.inventory.platforms.push_back(cpu.platforms.front());
    machine::SensorReader sensors(evidence.root);
    for (DeviceFacts& device : cpu.devices) {
      sensors.read(device);
      diagnosis.inventory.devices.push_back(std::move(device));
    }
  }
  keep_selected(selection, diagnosis);
  if (selection.ids.empty() && !selection.platform) machine::add_hardware(evidence);
  diagnosis.checks = machine::examine(evidence);
  return diagnosis;
}

report::Table libraries_table(const std::vector<machine::LibraryAnswer>& libraries) {
  report::Table table = table_of_keys({"platform", "name", "version", "path", "reason"});
  for (const machine::LibraryAnswer& library : libraries) {
    table.rows.push_back({to_string(library.platform), library.name,
                          text_or_absent(library.version), text_or_absent(library.path),
                          text_or_absent(library.reason)});
  }
  return table;
}

report::Table checks_table(const std::vector<Check>& checks) {
  report::Table table =
      table_of_keys({"id", "severity", "device", "read", "source", "expected", "fix"});
  for (const Check& check : checks) {
    table.rows.push_back({check.id, to_string(check.severity), text_or_absent(check.device),
                          text_or_absent(check.read), check.source, text_or_absent(check.expected),
                          text_or_absent(check.fix)});
  }
  return table;
}

report::Line doctor_verdict(const std::vector<Check>& checks, bool has_gpu) {
  const std::size_t failed = count_of(checks, Severity::fail);
  const std::size_t warnings = count_of(checks, Severity::warn);
  const std::size_t passed = count_of(checks, Severity::pass);
  const std::size_t unknown = count_of(checks, Severity::unknown);
  const std::string rest = fmt::format("; {} passed, {} unknown", passed, unknown);
  if (failed + warnings == 0) {
    if (has_gpu) return {report::Tone::good, "no check failed" + rest};
    return {report::Tone::good, fmt::format("{} passed, {} unknown without a GPU",
                                            base::count_of(passed, "host check"), unknown)};
  }
  std::string names = ids_of(checks, Severity::fail);
  const std::string warned = ids_of(checks, Severity::warn);
  if (!warned.empty()) names += (names.empty() ? "" : ", ") + warned;
  return {failed > 0 ? report::Tone::bad : report::Tone::warning,
          fmt::format("{} {} failed, {} {}: {}{}", failed, failed == 1 ? "check" : "checks",
                      warnings, warnings == 1 ? "warns" : "warn", names, rest)};
}

std::vector<report::Line> finding_lines(const std::vector<Check>& checks, bool verbose) {
  std::vector<report::Line> lines;
  std::vector<Severity> in_full{Severity::fail, Severity::warn, Severity::info};
  if (verbose) in_full.insert(in_full.end(), {Severity::unknown, Severity::pass});
  for (const Severity severity : in_full) {
    for (const Check& check : checks) {
      if (check.severity == severity) add_in_full(check, verbose, lines);
    }
  }
  if (verbose) return lines;
  add_unknown(checks, lines);
  const std::string passed = ids_of(checks, Severity::pass);
  if (!passed.empty()) lines.push_back({report::Tone::good, "pass " + passed});
  return lines;
}

std::vector<report::Failure> doctor_failures(const std::vector<Check>& checks) {
  std::vector<report::Failure> failures;
  for (const Check& check : checks) {
    if (check.severity != Severity::fail) continue;
    failures.push_back({check.device.empty() ? check.id : check.id + " " + check.device,
                        text_or_absent(check.expected), text_or_absent(check.read)});
  }
  return failures;
}

int doctor_exit_code(const std::vector<Check>& checks) noexcept {
  return count_of(checks, Severity::fail) > 0 ? exit_check_failed : exit_done;
}

}  // namespace hiptool::cli
