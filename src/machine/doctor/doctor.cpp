// SPDX-License-Identifier: MIT
#include "machine/doctor/doctor.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "machine/codes.hpp"
#include "machine/doctor/list.hpp"
#include "machine/vendor_tools.hpp"

namespace hiptool::machine {
namespace {

std::size_t place_of(const std::string& id) {
  const auto& ids = check_ids();
  return static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
}

// The order of the output: fail, warn, unknown, info, pass.
int rank(Severity severity) {
  switch (severity) {
    case Severity::fail: return 0;
    case Severity::warn: return 1;
    case Severity::unknown: return 2;
    case Severity::info: return 3;
    case Severity::pass: return 4;
  }
  return 5;
}

}  // namespace

const std::vector<std::string_view>& check_ids() {
  static const std::vector<std::string_view> ids{
      "driver-bound", "driver-hang", "kfd-missing",  "kfd-perm",       "kfd-einval", "kfd-nomem",
      "render-node",  "nouveau",     "uvm",          "driver-runtime", "fabric",     "hidden",
      "gfx-target",   "libraries",   "gfx-override", "atomics",        "large-bar",  "link-down",
      "ecc",          "xid",         "reset",        "throttle",       "power-cap",  "persistence",
      "busy",         "mig",         "partition",    "xgmi",           "nvlink",     "acs",
      "p2p",          "iommu",       "numa",         "numa-balance",   "memlock",    "shm",
      "queues",       "env-trap",    "wsl"};
  return ids;
}

void add_hardware(Evidence& evidence) {
  for (const system::PciDevice& pci : system::list_gpus(evidence.root)) {
    const bool is_listed = std::ranges::any_of(evidence.gpus, [&](const DoctorGpu& gpu) {
      return gpu.pci && gpu.pci->bus_id == pci.bus_id;
    });
    if (is_listed) continue;
    DoctorGpu gpu;
    gpu.platform = pci.vendor == system::vendor_amd ? Platform::amd : Platform::nvidia;
    gpu.pci = pci;
    gpu.sensor_reason = "its platform is not usable";
    evidence.gpus.push_back(std::move(gpu));
  }
}

std::vector<Check> examine(const Evidence& evidence) {
  CheckList list;
  examine_binding(evidence, list);
  examine_amd_nodes(evidence, list);
  examine_nvidia(evidence, list);
  examine_runtimes(evidence, list);
  examine_hidden(evidence, list);
  examine_libraries(evidence, list);
  examine_links(evidence, list);
  examine_health(evidence, list);
  examine_peers(evidence, list);
  examine_host(evidence, list);
  examine_variables(evidence, list);
  return list.take();
}

void CheckList::add(Check check) {
  const bool is_finding = check.severity == Severity::fail || check.severity == Severity::warn;
  if (is_finding && check.code.empty()) check.code = code_of_check(check.id);
  checks_.push_back(std::move(check));
}

void CheckList::add_unknown(const std::string& id, const std::string& subject,
                            const std::string& why, const std::string& source,
                            const std::string& fix) {
  for (Unknown& unknown : unknown_) {
    if (unknown.check.id != id || unknown.check.read != why) continue;
    unknown.subjects.push_back(subject);
    return;
  }
  unknown_.push_back({{id, Severity::unknown, {}, why, source, {}, fix}, {subject}});
}

void CheckList::add_moot(const std::string& id, const std::string& subject, const std::string& why,
                         const std::string& source, const std::string& fix) {
  add_unknown(id, subject, why, source, fix);
  for (Unknown& unknown : unknown_) {
    if (unknown.check.id == id && unknown.check.read == why) unknown.check.is_moot = true;
  }
}

std::vector<Check> CheckList::take() {
  std::vector<Check> checks = std::move(checks_);
  for (Unknown& unknown : unknown_) {
    std::erase(unknown.subjects, "");
    const std::string names = base::ranges_of(std::move(unknown.subjects));
    Check& check = checks.emplace_back(std::move(unknown.check));
    if (!names.empty()) check.read = names + ": " + check.read;
  }
  std::ranges::stable_sort(checks, [](const Check& left, const Check& right) {
    const auto key = [](const Check& check) {
      return std::pair(place_of(check.id), rank(check.severity));
    };
    return key(left) < key(right);
  });
  return checks;
}

std::string selection_for_tool(const DoctorGpu& gpu) {
  std::string id = gpu.pci ? gpu.pci->bus_id : gpu.info.pci_bus_id.value_or("");
  const std::string uuid = gpu.info.uuid.value_or("");
  // The UUIDs of HIP are not those of amd-smi, and nvidia-smi selects no MIG device.
  const bool has_uuid = gpu.platform == Platform::nvidia && uuid.starts_with("GPU-");
  if (id.empty() && has_uuid) id = uuid;
  return selection_for_tool(gpu.platform, id);
}

std::vector<const DoctorGpu*> gpus_of(const Evidence& evidence, Platform platform) {
  std::vector<const DoctorGpu*> gpus;
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (gpu.platform == platform) gpus.push_back(&gpu);
  }
  return gpus;
}

const PlatformAnswer* answer_of(const Evidence& evidence, Platform platform) {
  for (const PlatformAnswer& answer : evidence.platforms) {
    if (answer.status.platform == platform) return &answer;
  }
  return nullptr;
}

bool has_answered(const PlatformAnswer* answer) {
  return answer != nullptr && answer->kind == PlatformAnswer::Kind::answered;
}

bool is_usable(const Evidence& evidence, Platform platform) {
  const PlatformAnswer* const answer = answer_of(evidence, platform);
  return answer != nullptr && answer->status.usable;
}

std::string variable(const Evidence& evidence, const char* name) {
  return evidence.getenv ? evidence.getenv(name).value_or("") : std::string();
}

bool is_without(const Evidence& evidence, std::optional<Platform> platform, CheckList& list,
                const std::vector<std::string>& ids) {
  if (platform ? !gpus_of(evidence, *platform).empty() : !evidence.gpus.empty()) return false;
  const bool is_amd = platform == Platform::amd;
  const std::string kind = !platform ? "" : is_amd ? "AMD " : "NVIDIA ";
  const std::string filter = !platform ? "-nn" : is_amd ? "-d 1002:" : "-d 10de:";
  for (const std::string& id : ids) {
    list.add_moot(id, "", "no " + kind + "GPU found", "/sys/bus/pci/devices",
                  "nothing if none is installed; check with `lspci " + filter + "`");
  }
  return true;
}

}  // namespace hiptool::machine
