// SPDX-License-Identifier: MIT
/// Checks for NVIDIA only: unified memory, fabric, MIG, persistence, NVLink.
#include <algorithm>
#include <system_error>

#include "base/file.hpp"
#include "machine/doctor/list.hpp"
#include "system/drivers.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

void examine_uvm(const Evidence& evidence, CheckList& list) {
  const std::string fix =
      "`sudo nvidia-modprobe -u -c 0`; after a suspend `sudo rmmod nvidia_uvm && sudo modprobe "
      "nvidia_uvm`; in a container start it with `--gpus all`";
  if (system::nvidia_driver_version(evidence.root).empty()) {
    list.add_unknown("uvm", "", "the kernel driver nvidia is not loaded", "/sys/module/nvidia",
                     "`sudo modprobe nvidia`");
    return;
  }
  const bool has_module = base::is_there(evidence.root / "sys/module/nvidia_uvm");
  const bool has_node = base::is_there(evidence.root / "dev/nvidia-uvm");
  // A container may hide /sys/module; a usable driver has the module.
  const bool is_good = is_usable(evidence, Platform::nvidia) || (has_module && has_node);
  list.add({"uvm", is_good ? Severity::pass : Severity::fail, "",
            std::string("module nvidia_uvm ") + (has_module ? "loaded" : "not loaded") +
                ", /dev/nvidia-uvm " + (has_node ? "present" : "missing"),
            "/sys/module/nvidia_uvm, /dev/nvidia-uvm", "both present", is_good ? "" : fix});
}

bool has_switch_node(const fs::path& root) {
  std::error_code error;
  fs::directory_iterator entry(root / "dev", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().rfind("nvidia-nvswitch", 0) == 0) return true;
  }
  return false;
}

void examine_fabric(const Evidence& evidence, CheckList& list) {
  const PlatformAnswer* answer = answer_of(evidence, Platform::nvidia);
  const std::string fix =
      "`sudo systemctl start nvidia-fabricmanager` (the version must be the "
      "driver's); check with `nvidia-smi -q | grep -A 3 Fabric`";
  // cuda.h: CUDA_ERROR_SYSTEM_NOT_READY, which the driver answers until the fabric is set up.
  if (answer != nullptr && answer->status.reason.find("(802)") != std::string::npos) {
    list.add({"fabric", Severity::fail, "", answer->status.reason, "the CUDA driver",
              "the fabric manager runs", fix});
    return;
  }
  const bool is_running = base::is_there(evidence.root / "run/nvidia-fabricmanager");
  if (!has_switch_node(evidence.root)) {
    list.add_moot("fabric", "", "no NVSwitch found", "/dev/nvidia-nvswitch*",
                  "nothing without NVSwitch; else `nvidia-smi -q | grep -A 3 Fabric`");
  } else if (is_running || is_usable(evidence, Platform::nvidia)) {
    list.add({"fabric", Severity::pass, "",
              is_running ? "the fabric manager runs" : "NVSwitch is present and the driver works",
              "/run/nvidia-fabricmanager, the CUDA driver", "the fabric manager runs", ""});
  } else {
    list.add({"fabric", Severity::fail, "", "NVSwitch is present, but no fabric manager runs",
              "/run/nvidia-fabricmanager", "the fabric manager runs", fix});
  }
}

// True without sensors; then adds the checks that need them as unknown.
bool lacks_sensors(const DoctorGpu& gpu, CheckList& list) {
  if (!gpu.sensor_source.empty()) return false;
  for (const char* id : {"mig", "persistence", "nvlink"}) {
    list.add_unknown(id, gpu.name(), "no sensors: " + gpu.sensor_reason, "NVML",
                     "check with `nvidia-smi -q`");
  }
  return true;
}

void examine_mig(const Evidence& evidence, const DoctorGpu& gpu, CheckList& list) {
  if (!gpu.sensors.partitioned) {
    list.add_unknown("mig", gpu.name(), "the GPU does not report its MIG mode", gpu.sensor_source,
                     "check with `nvidia-smi --query-gpu=mig.mode.current --format=csv`");
    return;
  }
  if (!*gpu.sensors.partitioned) {
    list.add({"mig", Severity::pass, gpu.id, gpu.name() + ": MIG is off", gpu.sensor_source,
              "off, for the whole GPU", ""});
    return;
  }
  const bool has_instance = is_usable(evidence, Platform::nvidia);
  const std::string which = selection_for_tool(gpu);
  list.add(
      {"mig", has_instance ? Severity::info : Severity::fail, gpu.id,
       gpu.name() + (has_instance ? ": MIG is on: a device is a part of the GPU, with a part of "
                                    "its memory and rates"
                                  : ": MIG is on, but no instance can be used"),
       gpu.sensor_source, has_instance ? "off, for the whole GPU" : "an instance",
       has_instance ? "`sudo nvidia-smi" + which + " -mig 0`, with nothing running"
                    : "make one with `sudo nvidia-smi mig" + which +
                          " -cgi 0 -C`, or `sudo nvidia-smi" + which + " -mig 0`"});
}

void examine_persistence(const DoctorGpu& gpu, CheckList& list) {
  if (!gpu.sensors.persistence_enabled) {
    list.add_unknown("persistence", gpu.name(), "the GPU does not report its persistence mode",
                     gpu.sensor_source, "check with `nvidia-smi -q -d PERFORMANCE`");
    return;
  }
  const bool is_on = *gpu.sensors.persistence_enabled;
  list.add(
      {"persistence", is_on ? Severity::pass : Severity::warn, gpu.id,
       gpu.name() + (is_on ? ": on" : ": off: the first use after each pause restarts the driver"),
       gpu.sensor_source, "on",
       is_on ? "" : "`sudo nvidia-smi" + selection_for_tool(gpu) + " -pm 1`"});
}

void examine_nvlink(const std::vector<const DoctorGpu*>& gpus, CheckList& list) {
  std::uint64_t most = 0;
  for (const DoctorGpu* gpu : gpus) most = std::max(most, gpu->sensors.links_up.value_or(0));
  for (const DoctorGpu* gpu : gpus) {
    if (gpu->sensor_source.empty()) continue;
    if (!gpu->sensors.links_up) {
      list.add_moot("nvlink", gpu->name(), "the GPU reports no NVLink", gpu->sensor_source,
                    "nothing, if it has none; check with `nvidia-smi nvlink --status`");
      continue;
    }
    // All links are down on a single GPU in a virtual machine, or without a fabric.
    const std::uint64_t up = *gpu->sensors.links_up;
    const bool is_good = up > 0 && up >= most;
    const std::string which = selection_for_tool(*gpu);
    list.add({"nvlink", is_good ? Severity::pass : Severity::warn, gpu->id,
              gpu->name() + ": " + count_of(static_cast<std::size_t>(up), "link") + " up",
              gpu->sensor_source,
              most > 0 ? count_of(static_cast<std::size_t>(most), "link") + ", as its peers" : "up",
              is_good
                  ? ""
                  : "check with `nvidia-smi nvlink" + which + " --status` and `nvidia-smi nvlink" +
                        which + " -e`; reset with `sudo nvidia-smi" + which + " --gpu-reset`"});
  }
}

}  // namespace

void examine_nvidia(const Evidence& evidence, CheckList& list) {
  if (is_without(evidence, Platform::nvidia, list,
                 {"uvm", "fabric", "mig", "persistence", "nvlink"})) {
    return;
  }
  examine_uvm(evidence, list);
  examine_fabric(evidence, list);
  const auto gpus = gpus_of(evidence, Platform::nvidia);
  for (const DoctorGpu* gpu : gpus) {
    if (lacks_sensors(*gpu, list)) continue;
    examine_mig(evidence, *gpu, list);
    examine_persistence(*gpu, list);
  }
  examine_nvlink(gpus, list);
}

}  // namespace hiptool::machine
