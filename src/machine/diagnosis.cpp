// SPDX-License-Identifier: MIT
#include "machine/diagnosis.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "system/numa.hpp"

namespace hiptool::machine {
namespace {

DeviceFacts facts_of(const DoctorGpu& gpu, const std::filesystem::path& root) {
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
void keep_selected(const std::vector<std::string>& ids, Diagnosis& diagnosis) {
  if (ids.empty()) return;
  std::vector<DeviceFacts>& devices = diagnosis.inventory.devices;
  for (const std::string& id : ids) {
    if (id == "all" || std::ranges::any_of(devices, [&](const DeviceFacts& device) {
          return is_named(device, id);
        })) {
      continue;
    }
    throw Error(ErrorCode::unavailable, "devices", "no usable device " + id,
                "see `hiptool devices --doctor` without it");
  }
  const auto is_chosen = [&](const DeviceFacts& device) {
    return std::ranges::any_of(ids, [&](const std::string& id) { return is_named(device, id); });
  };
  std::erase_if(devices, [&](const DeviceFacts& device) { return !is_chosen(device); });
  const auto is_kept = [&](const std::string& id) {
    return std::ranges::any_of(devices, [&](const DeviceFacts& device) { return device.id == id; });
  };
  std::erase_if(diagnosis.evidence.gpus, [&](const auto& gpu) { return !is_kept(gpu.id); });
  std::erase_if(diagnosis.evidence.peers,
                [&](const auto& peer) { return !is_kept(peer.from) || !is_kept(peer.to); });
}

void take_libraries(ProbeResult& result, Diagnosis& diagnosis) {
  std::move(result.libraries.begin(), result.libraries.end(),
            std::back_inserter(diagnosis.evidence.libraries));
}

void take_results(std::vector<ProbeResult> results, Diagnosis& diagnosis) {
  for (ProbeResult& result : results) {
    take_libraries(result, diagnosis);
    if (result.answer.status.platform == Platform::cpu) continue;  // its devices need no child
    diagnosis.inventory.platforms.push_back(result.answer.status);
    diagnosis.evidence.platforms.push_back(std::move(result.answer));
    for (DoctorGpu& gpu : result.gpus) {
      if (!gpu.id.empty())
        diagnosis.inventory.devices.push_back(facts_of(gpu, diagnosis.evidence.root));
      diagnosis.evidence.gpus.push_back(std::move(gpu));
    }
    std::move(result.peers.begin(), result.peers.end(),
              std::back_inserter(diagnosis.evidence.peers));
  }
}

std::vector<ProbeResult> probe(const std::vector<Platform>& platforms,
                               const DiagnosisOptions& options, const CancelToken& cancel) {
  ProbeOptions probing;
  probing.root = options.root;
  probing.with_copies = !options.is_brief;
  if (!options.program.empty()) {
    return probe_in_children(options.program, platforms, probing, options.patience, cancel);
  }
  std::vector<ProbeResult> results;
  const auto opened = options.make_platforms();
  for (const Platform platform : platforms) {
    results.push_back(probe_here(*opened, platform, probing));
  }
  return results;
}

}  // namespace

Diagnosis diagnose(const DiagnosisOptions& options, TraceSink& trace, const CancelToken& cancel) {
  Diagnosis diagnosis;
  Evidence& evidence = diagnosis.evidence;
  evidence.root = options.root;
  evidence.getenv = options.getenv;
  evidence.allowed_cpus = system::allowed_cpus();
  std::vector<Platform> asked;
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    if (!options.platform || *options.platform == platform) asked.push_back(platform);
  }
  const bool has_cpu = !options.platform || *options.platform == Platform::cpu;
  std::vector<Platform> probed = asked;
  if (has_cpu && !options.program.empty()) probed.push_back(Platform::cpu);
  take_results(probe(probed, options, cancel), diagnosis);
  for (system::PciDevice& gpu : system::list_gpus(evidence.root)) {
    const Platform platform = gpu.vendor == system::vendor_amd ? Platform::amd : Platform::nvidia;
    if (!base::contains(asked, platform)) continue;
    diagnosis.inventory.hardware.push_back(std::move(gpu));
  }
  if (has_cpu) {
    const auto platforms = options.make_platforms();
    Inventory cpu = take_inventory(*platforms, Platform::cpu, evidence.root, trace, cancel);
    diagnosis.inventory.platforms.push_back(cpu.platforms.front());
    SensorReader sensors(evidence.root);
    for (DeviceFacts& device : cpu.devices) {
      sensors.read(device);
      diagnosis.inventory.devices.push_back(std::move(device));
    }
  }
  keep_selected(options.ids, diagnosis);
  if (options.ids.empty() && !options.platform) add_hardware(evidence);
  diagnosis.checks = examine(evidence);
  return diagnosis;
}

}  // namespace hiptool::machine
