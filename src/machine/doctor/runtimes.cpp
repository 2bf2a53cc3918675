// SPDX-License-Identifier: MIT
/// Whether drivers and runtimes match, and have kernel images in this build.
#include <algorithm>
#include <system_error>

#include "kernel_store/images.hpp"
#include "machine/doctor/list.hpp"
#include "system/drivers.hpp"
#include "system/kfd.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

// "580.159.04" of ".../name.so.580.159.04", after following links.
std::string version_of_library(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const std::string name = (error ? fs::path(path) : real).filename().string();
  const auto at = name.find(".so.");
  if (at == std::string::npos) return {};
  const std::string version = name.substr(at + 4);
  const bool is_version = version.find_first_not_of("0123456789.") == std::string::npos &&
                          version.find('.') != std::string::npos;
  return is_version ? version : "";
}

void examine_amd_pair(const Evidence& evidence, CheckList& list) {
  if (gpus_of(evidence, Platform::amd).empty()) return;
  const PlatformAnswer* answer = answer_of(evidence, Platform::amd);
  const std::string driver = system::amdgpu_driver_version(evidence.root);
  const std::string source = "/sys/module/amdgpu/version, the ROCm runtime";
  const std::string fix =
      "compare with AMD's matrix of user and kernel space: `cat /sys/module/amdgpu/version`";
  if (!has_answered(answer) || !answer->status.usable || driver.empty()) {
    const bool has_reason = has_answered(answer) && !answer->status.reason.empty();
    list.add_unknown("driver-runtime", "amd",
                     has_reason ? answer->status.reason : "driver or runtime not found", source,
                     fix);
    return;
  }
  list.add({"driver-runtime", Severity::pass, "",
            "amd: amdgpu " + driver + " works with runtime " + answer->status.runtime_version,
            source, "a pair that works", ""});
}

void examine_nvidia_pair(const Evidence& evidence, CheckList& list) {
  if (gpus_of(evidence, Platform::nvidia).empty()) return;
  const PlatformAnswer* answer = answer_of(evidence, Platform::nvidia);
  const std::string driver = system::nvidia_driver_version(evidence.root);
  const std::string source = "/sys/module/nvidia/version, the CUDA driver library";
  const std::string fix =
      "restart, so that the kernel driver of the installed library is loaded (or `sudo rmmod "
      "nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia`); in a container start "
      "it again with `--gpus all`";
  if (!has_answered(answer) || driver.empty() || answer->status.library.empty()) {
    list.add_unknown("driver-runtime", "nvidia", "driver or library not found", source,
                     "compare `cat /sys/module/nvidia/version` with `nvidia-smi`");
    return;
  }
  const std::string library = version_of_library(answer->status.library);
  const std::string read = "nvidia: kernel driver " + driver + ", library " +
                           (library.empty() ? "of unknown version" : library);
  if (answer->status.usable) {
    list.add({"driver-runtime", Severity::pass, "", read + ": they work together", source,
              "the same version, or a pair that works", ""});
    return;
  }
  // cuda.h: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.
  const bool says_mismatch = answer->status.reason.find("(803)") != std::string::npos;
  if (says_mismatch || (!library.empty() && library != driver)) {
    list.add({"driver-runtime", Severity::fail, "", read, source, "the same version", fix});
  } else {
    list.add_unknown("driver-runtime", "nvidia", answer->status.reason, source,
                     "compare `cat /sys/module/nvidia/version` with `nvidia-smi`");
  }
}

std::string targets_of(Platform platform) {
  const std::string prefix = platform == Platform::amd ? "gfx" : "sm_";
  std::string text;
  for (const std::string_view target : kernel_store::embedded_targets()) {
    if (target.substr(0, 3) == prefix) text += (text.empty() ? "" : " ") + std::string(target);
  }
  return text.empty() ? "none" : text;
}

// "; the nearest target is gfx1030": later AMD chips of a family often run its kernels.
std::string nearest_hint(Platform platform, const std::string& arch) {
  if (platform != Platform::amd) return {};
  constexpr std::size_t shortest = 5;  // "gfx10"
  std::string_view nearest;
  std::size_t longest = shortest - 1;
  for (const std::string_view target : kernel_store::embedded_targets()) {
    const auto limit = std::min(target.size(), arch.size());
    std::size_t same = 0;
    while (same < limit && target[same] == arch[same]) ++same;
    if (same <= longest || target.substr(0, 3) != "gfx") continue;
    longest = same;
    nearest = target;
  }
  return nearest.empty() ? "" : "; the nearest target is " + std::string(nearest);
}

void judge_target(Platform platform, const std::string& device, const std::string& name,
                  const std::string& arch, const std::string& source, CheckList& list) {
  if (arch.empty()) {
    list.add_unknown(
        "gfx-target", name, "its architecture is not reported", source,
        "check with `hiptool devices " + (device.empty() ? "--verbose" : device) + "`");
    return;
  }
  if (const auto image = kernel_store::choose_image("digest", platform, arch)) {
    list.add({"gfx-target", Severity::pass, device,
              name + ": " + arch + ", kernel image " + std::string(image->target), source,
              "an image in this program", ""});
    return;
  }
  list.add({"gfx-target", Severity::warn, device,
            name + ": " + arch +
                " has no kernel image in this program; its targets: " + targets_of(platform),
            source,
            "an image in this program; without one kernels are compiled at run time or "
            "not at all (on MI350X the runtime then says \"invalid resource handle\")",
            "install the platform's run-time compiler (hiprtc, NVRTC), or verify without kernels: "
            "`hiptool load --verify readback`" +
                nearest_hint(platform, arch)});
}

void examine_targets(const Evidence& evidence, const std::vector<system::KfdNode>& nodes,
                     CheckList& list) {
  bool is_any = false;
  bool is_amd_usable = false;
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (gpu.id.empty()) continue;
    is_any = true;
    is_amd_usable = is_amd_usable || gpu.platform == Platform::amd;
    judge_target(gpu.platform, gpu.id, gpu.id, gpu.info.arch, "the runtime", list);
  }
  const auto amd = gpus_of(evidence, Platform::amd);
  const bool is_bound = std::ranges::any_of(
      amd, [](const DoctorGpu* gpu) { return gpu->pci && gpu->pci->driver == "amdgpu"; });
  const auto all = system::read_kfd_nodes(evidence.root);
  const bool is_readable =
      !all.empty() && std::ranges::all_of(all, [](const auto& node) { return node.is_readable; });
  if (!is_amd_usable && is_bound && nodes.empty() && is_readable) {
    list.add({"gfx-target", Severity::fail, "",
              "amdgpu is loaded, but its compute driver offers none of " +
                  count_of(amd.size(), "AMD GPU"),
              "/sys/class/kfd/kfd/topology/nodes", "a GPU that KFD supports",
              "find the cause with `sudo dmesg | grep -i kfd`; ROCm runs on some GPUs only"});
    return;
  }
  if (!is_amd_usable) {
    for (const system::KfdNode& node : nodes) {
      is_any = true;
      judge_target(Platform::amd, "", node.bus_id.empty() ? "AMD GPU" : node.bus_id, node.arch,
                   "gfx_target_version of the KFD topology", list);
    }
  }
  if (is_any) return;
  list.add_unknown("gfx-target", "", "no device reports its architecture",
                   "the runtimes, the KFD topology", "check with `hiptool devices --verbose`");
}

}  // namespace

void examine_runtimes(const Evidence& evidence, CheckList& list) {
  is_without(evidence, std::nullopt, list, {"driver-runtime"});
  std::vector<system::KfdNode> nodes = system::read_kfd_nodes(evidence.root);
  std::erase_if(nodes, [](const system::KfdNode& node) { return !node.is_gpu; });
  examine_amd_pair(evidence, list);
  examine_nvidia_pair(evidence, list);
  examine_targets(evidence, nodes, list);
}

}  // namespace hiptool::machine
