// SPDX-License-Identifier: MIT
/// Whether the runtimes list all GPUs of the machine.
#include <algorithm>
#include <cctype>
#include <system_error>

#include "machine/doctor/list.hpp"
#include "system/device_node.hpp"
#include "system/kfd.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

/// "CUDA_VISIBLE_DEVICES" of "CUDA_VISIBLE_DEVICES=0", with a space before each name.
std::string names_of(const std::string& variables) {
  std::string names;
  for (std::size_t at = 0; at < variables.size();) {
    names += " " + variables.substr(at, variables.find('=', at) - at);
    const auto comma = variables.find(", ", at);
    at = comma == std::string::npos ? variables.size() : comma + 2;
  }
  return names;
}

struct Shown {
  Platform platform;
  std::size_t seen;  ///< by the kernel's driver
  std::string source;
  std::string variables;  ///< those set
  std::string missing;    ///< GPUs that the runtime does not list
  std::string lost;       ///< devices that it would list if they worked
};

std::string fix_of(const Shown& shown) {
  if (!shown.variables.empty()) return "`unset" + names_of(shown.variables) + "`";
  if (shown.lost.empty()) {
    return "find the cause with `hiptool devices --verbose`: a GPU that the runtime does not "
           "support, or a render node without permission";
  }
  const char* const log = shown.platform == Platform::amd
                              ? "`sudo dmesg | grep -i amdgpu`"
                              : "`sudo dmesg | grep -i -e xid -e 'fallen off the bus'`";
  return std::string("find the cause with ") + log +
         "; check power, seating and cooling of the card, then restart the machine";
}

void judge_shown(const Evidence& evidence, const Shown& shown, CheckList& list) {
  const std::string name(to_string(shown.platform));
  const PlatformAnswer* answer = answer_of(evidence, shown.platform);
  const bool is_known = has_answered(answer) && !answer->status.library.empty() && shown.seen > 0;
  const std::string source = shown.source + ", the runtime";
  if (!is_known) {
    std::string why = "the kernel's driver shows none";
    if (shown.seen > 0) {
      why = has_answered(answer) ? answer->status.reason : "the runtime was not queried";
    }
    list.add_unknown("hidden", name, why, source, "check with `hiptool devices --verbose`");
    return;
  }
  const auto count = static_cast<std::size_t>(std::max(0, answer->status.device_count));
  const std::string read =
      name + ": the runtime shows " + std::to_string(count) + " of " + count_of(shown.seen, "GPU");
  if (count >= shown.seen) {
    list.add({"hidden", Severity::pass, "", read, source, "all", ""});
    return;
  }
  std::string more = shown.missing.empty() ? "" : " (not " + shown.missing + ")";
  if (!shown.lost.empty()) more = "; lost, though on the PCI bus: " + shown.lost;
  if (!shown.variables.empty()) more += "; set: " + shown.variables;
  const bool is_fault = shown.variables.empty() && (count == 0 || !shown.lost.empty());
  list.add({"hidden", is_fault ? Severity::fail : Severity::warn, "", read + more,
            source + ", environment", "all", fix_of(shown)});
}

/// Bus ids of GPUs that have the driver, and `is_like` decides, the kind of one that the runtime
/// lists, and are not listed. Empty where the comparison cannot be made: the runtime's bus ids are
/// devices of other kinds in WSL, and MIG shows one instance of all GPUs.
template <class IsLike>
std::vector<std::string> find_lost(const Evidence& evidence, Platform platform,
                                   const IsLike& is_like) {
  std::vector<const DoctorGpu*> listed;
  std::vector<const DoctorGpu*> others;
  for (const DoctorGpu* gpu : gpus_of(evidence, platform)) {
    if (gpu->sensors.partitioned.value_or(false)) return {};
    if (!gpu->id.empty() && !gpu->pci) return {};
    if (gpu->pci) (gpu->id.empty() ? others : listed).push_back(gpu);
  }
  std::vector<std::string> lost;
  for (const DoctorGpu* other : others) {
    const bool is_same = std::ranges::any_of(listed, [&](const DoctorGpu* gpu) {
      return gpu->pci->driver == other->pci->driver && is_like(*gpu->pci, *other->pci);
    });
    if (is_same) lost.push_back(other->pci->bus_id);
  }
  return lost;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

int error_of_node(const Evidence& evidence, const fs::path& path) {
  return evidence.open_node ? evidence.open_node(path) : system::try_open(path);
}

void examine_amd_hidden(const Evidence& evidence, CheckList& list) {
  std::vector<system::KfdNode> nodes = system::read_kfd_nodes(evidence.root);
  std::erase_if(nodes, [](const system::KfdNode& node) { return !node.is_gpu; });
  Shown shown{Platform::amd,
              nodes.size(),
              "/sys/class/kfd/kfd/topology/nodes",
              visibility_variables(evidence.getenv, Platform::amd),
              {},
              {}};
  for (const system::KfdNode& node : nodes) {
    const bool is_shown = std::ranges::any_of(evidence.gpus, [&](const DoctorGpu& gpu) {
      return !gpu.id.empty() && gpu.pci && gpu.pci->bus_id == node.bus_id;
    });
    if (!is_shown) shown.missing += (shown.missing.empty() ? "" : ", ") + node.bus_id;
  }
  // The runtime leaves out GPUs that it does not support, and those that a container was not given.
  std::vector<std::string> lost = find_lost(
      evidence, Platform::amd,
      [](const auto& listed, const auto& other) { return listed.device == other.device; });
  std::erase_if(lost, [&](const std::string& bus_id) {
    const auto node =
        std::ranges::find_if(nodes, [&](const auto& one) { return one.bus_id == bus_id; });
    return node == nodes.end() || !node->is_readable ||
           error_of_node(evidence, evidence.root / "dev/dri" / ("renderD" + node->render_minor)) !=
               0;
  });
  shown.lost = joined(lost, ", ");
  judge_shown(evidence, shown, list);
}

std::size_t count_nvidia_nodes(const fs::path& root) {
  std::size_t count = 0;
  std::error_code error;
  fs::directory_iterator entry(root / "dev", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind("nvidia", 0) != 0 || name.size() == 6) continue;
    const bool is_number = std::all_of(name.begin() + 6, name.end(),
                                       [](unsigned char c) { return std::isdigit(c) != 0; });
    count += is_number ? 1u : 0u;
  }
  return count;
}

void examine_nvidia_hidden(const Evidence& evidence, CheckList& list) {
  // A container lists all GPUs of the bus, but has device nodes only of its own.
  Shown shown{Platform::nvidia,
              count_nvidia_nodes(evidence.root),
              "/dev/nvidia0 and so on",
              visibility_variables(evidence.getenv, Platform::nvidia),
              {},
              {}};
  const PlatformAnswer* const answer = answer_of(evidence, Platform::nvidia);
  const auto count =
      static_cast<std::size_t>(answer != nullptr ? std::max(0, answer->status.device_count) : 0);
  const std::vector<std::string> lost =
      find_lost(evidence, Platform::nvidia, [](const auto&, const auto&) { return true; });
  const std::size_t missing = shown.seen > count ? shown.seen - count : 0;
  // Of more than are missing, a container was not given some.
  shown.lost = lost.size() <= missing ? joined(lost, ", ")
                                      : std::to_string(missing) + " of " + joined(lost, ", ");
  judge_shown(evidence, shown, list);
}

}  // namespace

std::string visibility_variables(
    const std::function<std::optional<std::string>(const char* name)>& getenv, Platform platform) {
  // HIP reads that of CUDA too.
  std::vector<const char*> names{"CUDA_VISIBLE_DEVICES"};
  if (platform == Platform::amd) {
    names = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
             "GPU_DEVICE_ORDINAL"};
  }
  std::string text;
  for (const char* const name : names) {
    const std::optional<std::string> value = getenv ? getenv(name) : std::nullopt;
    if (value) text += (text.empty() ? "" : ", ") + std::string(name) + "=" + *value;
  }
  return text;
}

void examine_hidden(const Evidence& evidence, CheckList& list) {
  if (is_without(evidence, std::nullopt, list, {"hidden"})) return;
  if (!gpus_of(evidence, Platform::amd).empty()) examine_amd_hidden(evidence, list);
  if (!gpus_of(evidence, Platform::nvidia).empty()) examine_nvidia_hidden(evidence, list);
}

}  // namespace hiptool::machine
