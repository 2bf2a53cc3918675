// SPDX-License-Identifier: MIT
/// Whether each GPU is bound to its driver and the driver responds.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "machine/doctor/list.hpp"
#include "system/drivers.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

const char* driver_of(Platform platform) { return platform == Platform::amd ? "amdgpu" : "nvidia"; }

void examine_one(const Evidence& evidence, const DoctorGpu& gpu, bool is_any_bound,
                 CheckList& list) {
  if (!gpu.pci) {
    list.add_unknown("driver-bound", gpu.name(), "its address on the PCI bus is unknown",
                     "/sys/bus/pci/devices", "check with `lspci -nnk -d ::0300`");
    return;
  }
  const std::string source = "/sys/bus/pci/devices/" + gpu.pci->bus_id + "/driver";
  const std::string expected = driver_of(gpu.platform);
  const auto finding = system::explain_binding(evidence.root, *gpu.pci);
  // A GPU that the runtime uses has its driver, even if a container's /sys does not name it.
  if (finding.reason.empty() || !gpu.id.empty()) {
    const std::string driver = gpu.pci->driver.empty() ? "its driver" : gpu.pci->driver;
    list.add({"driver-bound", Severity::pass, gpu.id, gpu.pci->bus_id + " has " + driver, source,
              expected, ""});
    return;
  }
  // If other GPUs are bound, the other driver of this one is probably intended.
  list.add({"driver-bound", is_any_bound ? Severity::warn : Severity::fail, gpu.id, finding.reason,
            source, expected, finding.hint});
}

// Without a driver that could hang the answer proves nothing.
bool has_no_driver(const Evidence& evidence, const PlatformStatus& status) {
  if (status.usable) return false;
  return status.library.empty() || gpus_of(evidence, status.platform).empty();
}

void examine_hang(const Evidence& evidence, const PlatformAnswer& answer, CheckList& list) {
  const std::string name(to_string(answer.status.platform));
  const std::string source =
      answer.status.library.empty() ? "the " + name + " runtime" : answer.status.library;
  const std::string find_cause = "find the cause with `sudo dmesg | tail -n 50`";
  switch (answer.kind) {
    case PlatformAnswer::Kind::not_asked:
      list.add_unknown("driver-hang", name, "its driver was not queried", source,
                       "run `hiptool devices --doctor --platform " + name + "`");
      return;
    case PlatformAnswer::Kind::hung:
      list.add({"driver-hang", Severity::fail, "",
                fmt::format("{}: the driver hangs: no answer within {:.1f} s{}", name,
                            answer.after_s, answer.detail.empty() ? "" : " while " + answer.detail),
                source, "an answer within seconds",
                find_cause + "; restart the machine if the driver is stuck, or, on NVIDIA without "
                             "persistence mode, run `sudo nvidia-smi -pm 1`"});
      return;
    case PlatformAnswer::Kind::crashed:
      list.add({"driver-hang", Severity::fail, "",
                name + ": the process that queried the driver " + answer.detail, source,
                "an answer",
                find_cause + " and try `hiptool devices --platform " + name + " --verbose`"});
      return;
    case PlatformAnswer::Kind::answered:
      if (has_no_driver(evidence, answer.status)) {
        list.add_moot("driver-hang", name, "no driver to query: " + answer.status.reason, source,
                      "nothing without a GPU of this kind; else install its driver and see "
                      "`hiptool devices --platform " +
                          name + " --verbose`");
        return;
      }
      list.add({"driver-hang", answer.was_late ? Severity::warn : Severity::pass, "",
                fmt::format(
                    "{}: answered in {:.2f} s: {}", name, answer.after_s,
                    answer.status.usable
                        ? count_of(static_cast<std::size_t>(answer.status.device_count), "device")
                        : answer.status.reason),
                source, "an answer within seconds",
                answer.was_late ? "nothing is stuck, but the runtime's files are read from a slow "
                                  "disk: move them to a local one"
                                : ""});
  }
}

void examine_nouveau(const Evidence& evidence, CheckList& list) {
  if (is_without(evidence, Platform::nvidia, list, {"nouveau"})) return;
  const auto gpus = gpus_of(evidence, Platform::nvidia);
  const std::string fix =
      "`echo blacklist nouveau | sudo tee /etc/modprobe.d/blacklist-nouveau.conf`, "
      "`sudo update-initramfs -u`, then restart";
  bool is_bound = false;
  for (const DoctorGpu* gpu : gpus) {
    if (!gpu->pci || gpu->pci->driver != "nouveau") continue;
    is_bound = true;
    list.add({"nouveau", Severity::fail, gpu->id, gpu->pci->bus_id + " is bound to nouveau",
              "/sys/bus/pci/devices/" + gpu->pci->bus_id + "/driver", "nvidia", fix});
  }
  if (is_bound) return;
  std::error_code ignored;
  const bool is_loaded = fs::exists(evidence.root / "sys/module/nouveau", ignored);
  list.add({"nouveau", is_loaded ? Severity::warn : Severity::pass, "",
            is_loaded ? "nouveau is loaded, though no GPU is bound to it" : "nouveau is not loaded",
            "/sys/module/nouveau", "not loaded", is_loaded ? fix : ""});
}

}  // namespace

void examine_binding(const Evidence& evidence, CheckList& list) {
  is_without(evidence, std::nullopt, list, {"driver-bound"});
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    const auto gpus = gpus_of(evidence, platform);
    const bool is_any_bound = std::ranges::any_of(gpus, [&](const DoctorGpu* gpu) {
      return gpu->pci && gpu->pci->driver == driver_of(platform);
    });
    for (const DoctorGpu* gpu : gpus) examine_one(evidence, *gpu, is_any_bound, list);
  }
  for (const PlatformAnswer& answer : evidence.platforms) examine_hang(evidence, answer, list);
  if (evidence.platforms.empty()) {
    list.add_unknown("driver-hang", "", "no driver was queried", "the runtimes",
                     "run `hiptool devices --doctor`");
  }
  examine_nouveau(evidence, list);
}

}  // namespace hiptool::machine
