// SPDX-License-Identifier: MIT
#include "system/drivers.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/device_node.hpp"
#include "system/kfd.hpp"
#include "system/node_failure.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

constexpr const char* nvidia_container = "--gpus all";

DriverFinding explain_taken(const fs::path& root, const std::string& brand, const PciDevice& gpu,
                            const std::string& driver) {
  const bool is_passed_through = gpu.driver == "vfio-pci" || gpu.driver == "pciback" ||
                                 gpu.driver == "xen-pciback" || gpu.driver == "pci-stub";
  const std::string purpose =
      is_passed_through ? " (set aside for a virtual machine)" : std::string();
  const std::string drivers = " | sudo tee /sys/bus/pci/drivers/";
  std::string hint = "give it back: `echo " + gpu.bus_id + drivers + gpu.driver + "/unbind`";
  if (!base::is_there(root / "sys/module" / driver)) hint += ", `sudo modprobe " + driver + "`";
  return {
      brand + " GPU " + gpu.bus_id + " is bound to " + gpu.driver + purpose + ", not to " + driver,
      hint + " and `echo " + gpu.bus_id + drivers + driver + "/bind`"};
}

/// amdgpu takes two generations from radeon if so configured (Linux, module parameters of both).
DriverFinding explain_radeon(const PciDevice& gpu) {
  return {
      "AMD GPU " + gpu.bus_id + " is bound to radeon, the driver of old chips, not to amdgpu",
      "check with `lspci -nns " + gpu.bus_id +
          "` which chip it is: ROCm runs on newer ones; some are given to amdgpu by booting with "
          "`radeon.cik_support=0 amdgpu.cik_support=1`"};
}

DriverFinding explain_not_loaded(const std::string& brand, const PciDevice& gpu,
                                 const std::string& module, const std::string& otherwise) {
  return {brand + " GPU " + gpu.bus_id + " is present, but the kernel driver " + module +
              " is not loaded",
          "run `sudo modprobe " + module + "`; if that fails, " + otherwise};
}

DriverFinding explain_not_taken(const std::string& brand, const PciDevice& gpu,
                                const std::string& module, const std::string& pattern) {
  return {brand + " GPU " + gpu.bus_id + " has no driver: " + module +
              " is loaded but did not bind to it",
          "find the reason (firmware missing, chip not supported) with `sudo dmesg | grep -i " +
              pattern + "`"};
}

DriverFinding explain_failed_open(int error_number, const fs::path& root, const std::string& node,
                                  const char* container_option) {
  const NodeOwner owner = read_owner(root, root / node.substr(1));
  return explain_node_failure(error_number, node, owner, container_option);
}

DriverFinding explain_render_nodes(const fs::path& root, const std::vector<KfdNode>& nodes) {
  std::optional<DriverFinding> first;
  for (const KfdNode& gpu : nodes) {
    if (gpu.render_minor.empty()) continue;
    const std::string node = "/dev/dri/renderD" + gpu.render_minor;
    const int error_number = try_open(root / node.substr(1));
    if (error_number == 0) return {};
    if (first) continue;
    if (error_number == ENOENT) {
      first = DriverFinding{node + ", the render node of an AMD GPU, is missing",
                            std::string("start the container with `") + amd_container_option + "`"};
    } else {
      first = explain_failed_open(error_number, root, node, amd_container_option);
    }
  }
  return first.value_or(DriverFinding{});
}

DriverFinding explain_kfd(const fs::path& root) {
  const int error_number = try_open(root / "dev/kfd");
  if (error_number == ENOENT) {
    return {"/dev/kfd is missing although amdgpu is loaded",
            std::string("in a container, start it with `") + amd_container_option +
                "`; otherwise boot a kernel built with CONFIG_HSA_AMD"};
  }
  if (error_number != 0)
    return explain_failed_open(error_number, root, "/dev/kfd", amd_container_option);
  const std::vector<KfdNode> nodes = read_kfd_nodes(root);
  if (std::ranges::none_of(nodes, [](const KfdNode& node) { return node.is_gpu; })) {
    const bool is_all_readable =
        std::ranges::all_of(nodes, [](const KfdNode& node) { return node.is_readable; });
    if (nodes.empty() || !is_all_readable) {
      return {"the compute nodes of the AMD GPUs (/sys/class/kfd) cannot be read",
              std::string("in a container, start it with `") + amd_container_option +
                  "` and with /sys; check with `ls /sys/class/kfd/kfd/topology/nodes`"};
    }
    return {
        "amdgpu is loaded, but it registered none of the AMD GPUs for compute",
        "check with `sudo dmesg | grep -i kfd` why it skipped them; ROCm runs on some GPUs only"};
  }
  return explain_render_nodes(root, nodes);
}

DriverFinding explain_amd_binding(const fs::path& root, const PciDevice& gpu) {
  if (gpu.driver == "amdgpu") return {};
  if (gpu.driver == "radeon") return explain_radeon(gpu);
  if (!gpu.driver.empty()) return explain_taken(root, "AMD", gpu, "amdgpu");
  if (!base::is_there(root / "sys/module/amdgpu")) {
    return explain_not_loaded("AMD", gpu, "amdgpu",
                              "look for `blacklist amdgpu` with `grep -r amdgpu /etc/modprobe.d`");
  }
  return explain_not_taken("AMD", gpu, "amdgpu", "amdgpu");
}

DriverFinding explain_nvidia_binding(const fs::path& root, const PciDevice& gpu) {
  if (gpu.driver == "nvidia") return {};
  if (gpu.driver == "nouveau") {
    return {"NVIDIA GPU " + gpu.bus_id + " is bound to nouveau, which does not support CUDA",
            "install NVIDIA's driver, run `echo blacklist nouveau | sudo tee "
            "/etc/modprobe.d/blacklist-nouveau.conf` and `sudo update-initramfs -u`, then restart"};
  }
  if (!gpu.driver.empty()) return explain_taken(root, "NVIDIA", gpu, "nvidia");
  if (nvidia_driver_version(root).empty()) {
    return explain_not_loaded("NVIDIA", gpu, "nvidia",
                              "install the driver of this kernel release, for example with "
                              "`sudo apt install nvidia-driver`");
  }
  return explain_not_taken("NVIDIA", gpu, "nvidia", "nvrm");
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ..." and, from the open flavour,
// "... Open Kernel Module for x86_64  580.159.04  Release Build ...": the first word of numbers
// joined by full stops.
std::string version_in(const std::string& text) {
  std::istringstream words(text.substr(0, text.find('\n')));
  for (std::string word; words >> word;) {
    const bool is_version = word.find_first_not_of("0123456789.") == std::string::npos &&
                            word.find('.') != std::string::npos && word.front() != '.';
    if (is_version) return word;
  }
  return {};
}

std::string missing_nvidia_node(const fs::path& root) {
  if (!base::is_there(root / "dev/nvidiactl")) return "/dev/nvidiactl";
  // A container may have been given any of the GPUs, so that number 0 alone says nothing.
  const auto nodes = base::list_folder(root / "dev");
  const bool has_gpu = std::ranges::any_of(nodes, [](const fs::path& node) {
    const std::string name = node.filename().string();
    return name.rfind("nvidia", 0) == 0 && base::is_all_digits(std::string_view(name).substr(6));
  });
  if (!has_gpu) return "/dev/nvidia0";
  return base::is_there(root / "dev/nvidia-uvm") ? "" : "/dev/nvidia-uvm";
}

DriverFinding explain_nvidia_nodes(const fs::path& root) {
  if (const std::string node = missing_nvidia_node(root); !node.empty()) {
    return {node + " is missing although the kernel driver nvidia is loaded",
            std::string("run `sudo nvidia-modprobe -c 0 -u`; in a container, start it with `") +
                nvidia_container + "`"};
  }
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    const int error_number = check_access(root / (node + 1));
    if (error_number != 0) return explain_failed_open(error_number, root, node, nvidia_container);
  }
  return {};
}

/// By the files of the driver where a GPU is bound to it, else by a GPU that another driver has
/// taken, else by the first one.
DriverFinding explain_gpus(const fs::path& root, std::uint32_t vendor, std::string_view driver,
                           DriverFinding (*explain_bound)(const fs::path& root)) {
  const std::vector<PciDevice> gpus = list_gpus(root, vendor);
  if (gpus.empty()) return {};
  const auto is_bound = [driver](const PciDevice& gpu) { return gpu.driver == driver; };
  if (std::ranges::any_of(gpus, is_bound)) return explain_bound(root);
  const auto taken =
      std::ranges::find_if(gpus, [](const PciDevice& gpu) { return !gpu.driver.empty(); });
  return explain_binding(root, taken != gpus.end() ? *taken : gpus.front());
}

}  // namespace

std::string nvidia_driver_version(const fs::path& root) {
  const std::string version = base::read_small_file(root / "sys/module/nvidia/version");
  if (!version.empty()) return version;
  return version_in(base::read_small_file(root / "proc/driver/nvidia/version"));
}

std::string amdgpu_driver_version(const fs::path& root) {
  if (!base::is_there(root / "sys/module/amdgpu")) return {};
  const std::string version = base::read_small_file(root / "sys/module/amdgpu/version");
  return version.empty() ? base::read_small_file(root / "proc/sys/kernel/osrelease") : version;
}

DriverFinding explain_amd(const fs::path& root) {
  return explain_gpus(root, vendor_amd, "amdgpu", explain_kfd);
}

DriverFinding explain_nvidia(const fs::path& root) {
  return explain_gpus(root, vendor_nvidia, "nvidia", explain_nvidia_nodes);
}

DriverFinding explain_binding(const fs::path& root, const PciDevice& gpu) {
  return gpu.vendor == vendor_amd ? explain_amd_binding(root, gpu)
                                  : explain_nvidia_binding(root, gpu);
}

}  // namespace hiptool::system
