// SPDX-License-Identifier: MIT
/// The device nodes of amdgpu, and the GPUs in the topology of its compute driver.
#include <algorithm>
#include <cerrno>

#include "base/file.hpp"
#include "machine/doctor/list.hpp"
#include "system/device_node.hpp"
#include "system/drivers.hpp"
#include "system/kernel_log.hpp"
#include "system/kfd.hpp"
#include "system/node_failure.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

constexpr const char* nodes_folder = "/sys/class/kfd/kfd/topology/nodes";

int open_node(const Evidence& evidence, const std::string& node) {
  const fs::path path = evidence.root / node.substr(1);
  return evidence.open_node ? evidence.open_node(path) : system::try_open(path);
}

bool is_any_for_amdgpu(const std::vector<const DoctorGpu*>& gpus) {
  return std::ranges::any_of(gpus, [](const DoctorGpu* gpu) {
    return !gpu->pci || gpu->pci->driver.empty() || gpu->pci->driver == "amdgpu";
  });
}

std::string missing_fix(const Evidence& evidence) {
  if (!base::is_there(evidence.root / "sys/module/amdgpu")) {
    return "run `sudo modprobe amdgpu`; if that fails, install the kernel driver: "
           "`sudo apt install amdgpu-dkms`";
  }
  return std::string("start the container with `") + system::amd_container_option +
         "`; outside of one boot a kernel built with CONFIG_HSA_AMD";
}

void explain_failed_open(const Evidence& evidence, int error_number, CheckList& list) {
  const std::string node = "/dev/kfd";
  const auto owner = system::read_owner(evidence.root, evidence.root / "dev/kfd");
  const auto finding =
      system::explain_node_failure(error_number, node, owner, system::amd_container_option);
  std::string guilty = "kfd-einval";
  if (error_number == EACCES || error_number == EPERM) guilty = "kfd-perm";
  if (error_number == ENOMEM) guilty = "kfd-nomem";
  list.add({guilty, Severity::fail, "", finding.reason, node, "opens for reading and writing",
            finding.hint});
  for (const char* id : {"kfd-perm", "kfd-einval", "kfd-nomem"}) {
    if (guilty == id) continue;
    list.add_unknown(id, "", node + " could not be opened for another reason", node, finding.hint);
  }
}

void examine_kfd(const Evidence& evidence, CheckList& list) {
  const auto ids = {"kfd-perm", "kfd-einval", "kfd-nomem"};
  const int error_number = open_node(evidence, "/dev/kfd");
  if (error_number == ENOENT) {
    const std::string fix = missing_fix(evidence);
    const bool is_loaded = base::is_there(evidence.root / "sys/module/amdgpu");
    list.add({"kfd-missing", Severity::fail, "",
              is_loaded ? "/dev/kfd is missing although amdgpu is loaded"
                        : "/dev/kfd is missing: amdgpu is not loaded",
              is_loaded ? "/dev/kfd" : "/dev/kfd, /sys/module/amdgpu", "present", fix});
    for (const char* id : ids) list.add_unknown(id, "", "/dev/kfd is missing", "/dev/kfd", fix);
    return;
  }
  list.add({"kfd-missing", Severity::pass, "", "/dev/kfd is present", "/dev/kfd", "present", ""});
  if (error_number != 0) {
    explain_failed_open(evidence, error_number, list);
    return;
  }
  for (const char* id : ids) {
    list.add({id, Severity::pass, "", "/dev/kfd opens", "/dev/kfd", "opens for reading and writing",
              ""});
  }
}

// The id of the runtime's device for a node of the topology.
std::string id_of(const Evidence& evidence, const system::KfdNode& node) {
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (gpu.pci && !node.bus_id.empty() && gpu.pci->bus_id == node.bus_id) return gpu.id;
  }
  return {};
}

void examine_render_nodes(const Evidence& evidence, const std::vector<system::KfdNode>& gpus,
                          CheckList& list) {
  bool is_any = false;
  for (const system::KfdNode& gpu : gpus) {
    if (gpu.render_minor.empty()) continue;
    is_any = true;
    const std::string node = "/dev/dri/renderD" + gpu.render_minor;
    const std::string id = id_of(evidence, gpu);
    const int error_number = open_node(evidence, node);
    if (error_number == 0) {
      list.add({"render-node", Severity::pass, id, node + " opens", node,
                "opens for reading and writing", ""});
    } else if (error_number == ENOENT) {
      list.add({"render-node", Severity::fail, id, node + " is missing", node, "present",
                std::string("start the container with `") + system::amd_container_option + "`"});
    } else {
      const auto owner = system::read_owner(evidence.root, evidence.root / node.substr(1));
      auto finding =
          system::explain_node_failure(error_number, node, owner, system::amd_container_option);
      finding.hint += "; with SELinux: `sudo setsebool -P container_use_devices 1`";
      list.add({"render-node", Severity::fail, id, finding.reason, node,
                "opens for reading and writing", finding.hint});
    }
  }
  if (is_any) return;
  list.add_unknown("render-node", "", "the topology names no render node", nodes_folder,
                   "check with `ls -l /dev/dri` and `ls " + std::string(nodes_folder) + "`");
}

// The kernel refuses a GPU that needs PCIe atomics in a slot without them: "kfd: skipped device
// 1002:67df, PCI rejects atomics" (Linux, kfd_device.c).
void examine_atomics(const Evidence& evidence, std::size_t bound, std::size_t listed,
                     CheckList& list) {
  const std::string fix =
      "use a slot of the processor without a riser, and enable PCIe atomics in the BIOS; check "
      "with `sudo lspci -vvv | grep AtomicOps`";
  if (bound > 0 && listed >= bound) {
    list.add({"atomics", Severity::pass, "", "KFD took " + count_of(listed, "GPU"), nodes_folder,
              "no GPU is refused for missing PCIe atomics", ""});
    return;
  }
  const auto log = system::read_kernel_log(evidence.root);
  if (!log) {
    list.add_unknown("atomics", "", "the kernel's log cannot be read", "/dev/kmsg",
                     "check with `sudo dmesg | grep -i 'rejects atomics'`");
    return;
  }
  for (const std::string& message : *log) {
    if (message.find("PCI rejects atomics") == std::string::npos) continue;
    list.add({"atomics", Severity::fail, "", message, "/dev/kmsg",
              "no GPU is refused for missing PCIe atomics", fix});
    return;
  }
  list.add({"atomics", Severity::pass, "", "no refusal in the kernel's log", "/dev/kmsg",
            "no GPU is refused for missing PCIe atomics", ""});
}

void examine_partition(const Evidence& evidence, CheckList& list) {
  for (const DoctorGpu* gpu : gpus_of(evidence, Platform::amd)) {
    const fs::path folder =
        gpu->pci ? evidence.root / "sys/bus/pci/devices" / gpu->pci->bus_id : fs::path();
    const std::string compute = base::read_small_file(folder / "current_compute_partition");
    const std::string memory = base::read_small_file(folder / "current_memory_partition");
    if (compute.empty() && memory.empty()) {
      list.add_unknown("partition", gpu->name(), "amdgpu reports no partition mode",
                       "current_compute_partition",
                       "nothing, if the GPU cannot be partitioned; check with `amd-smi partition`");
      continue;
    }
    const bool is_whole =
        (compute.empty() || compute == "SPX") && (memory.empty() || memory == "NPS1");
    list.add({"partition", is_whole ? Severity::pass : Severity::info, gpu->id,
              gpu->name() + ": compute " + (compute.empty() ? "?" : compute) + ", memory " +
                  (memory.empty() ? "?" : memory) +
                  (is_whole ? "" : ": each device is a part of the GPU, with a part of its rates"),
              "/sys/bus/pci/devices/" + gpu->pci->bus_id + "/current_compute_partition",
              "SPX and NPS1 for the whole GPU",
              is_whole
                  ? ""
                  : "`sudo amd-smi set" + selection_for_tool(*gpu) + " --compute-partition SPX`"});
  }
}

}  // namespace

void examine_amd_nodes(const Evidence& evidence, CheckList& list) {
  const std::vector<std::string> ids{"kfd-missing", "kfd-perm", "kfd-einval", "kfd-nomem",
                                     "render-node", "atomics",  "partition"};
  if (is_without(evidence, Platform::amd, list, ids)) return;
  examine_partition(evidence, list);
  const auto gpus = gpus_of(evidence, Platform::amd);
  if (!is_any_for_amdgpu(gpus)) {
    for (const char* id :
         {"kfd-missing", "kfd-perm", "kfd-einval", "kfd-nomem", "render-node", "atomics"}) {
      list.add_unknown(id, "", "another driver holds every AMD GPU", "/sys/bus/pci/devices",
                       "see the check driver-bound: `hiptool devices --doctor`");
    }
    return;
  }
  examine_kfd(evidence, list);
  std::vector<system::KfdNode> nodes = system::read_kfd_nodes(evidence.root);
  std::erase_if(nodes, [](const system::KfdNode& node) { return !node.is_gpu; });
  examine_render_nodes(evidence, nodes, list);
  const auto bound = std::ranges::count_if(
      gpus, [](const DoctorGpu* gpu) { return gpu->pci && gpu->pci->driver == "amdgpu"; });
  examine_atomics(evidence, static_cast<std::size_t>(bound), nodes.size(), list);
}

}  // namespace hiptool::machine
