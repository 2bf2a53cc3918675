// SPDX-License-Identifier: MIT
#include "hip/amd/no_device.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "system/kfd.hpp"
#include "system/pci.hpp"

namespace hiptool::hip::amd {
namespace {

namespace fs = std::filesystem;
using system::DriverFinding;

constexpr const char* override_variable = "HSA_OVERRIDE_GFX_VERSION";

/// The variable that may hide every device. The HSA runtime takes an empty list as none; HIP takes
/// an empty one as not set, and CUDA's name only where its own is not used.
std::optional<std::pair<std::string, std::string>> find_hiding(const GetVariable& get_variable) {
  if (const char* value = get_variable("ROCR_VISIBLE_DEVICES"); value != nullptr) {
    return std::pair("ROCR_VISIBLE_DEVICES", value);
  }
  for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    const char* value = get_variable(name);
    if (value != nullptr && *value != '\0') return std::pair(name, value);
  }
  return std::nullopt;
}

std::string unset_hint(const std::string& name) { return "run `unset " + name + "` and try again"; }

/// "gfx1031, gfx90c", each once.
std::string join_archs(const std::vector<system::KfdNode>& nodes) {
  std::vector<std::string> archs;
  for (const system::KfdNode& node : nodes) {
    const bool is_new = !base::contains(archs, node.arch);
    if (!node.arch.empty() && is_new) archs.push_back(node.arch);
  }
  std::string text;
  for (const std::string& arch : archs) text += (text.empty() ? "" : ", ") + arch;
  return text;
}

/// All of gfx1030 to gfx1036 run the same code (LLVM, AMDGPU usage, gfx10-3-generic), while
/// runtimes support only the first of them.
bool has_twin(const std::string& arch) { return arch.starts_with("gfx103") && arch != "gfx1030"; }

DriverFinding explain_unknown_chip(const std::string& gpu, const std::string& archs) {
  DriverFinding finding;
  finding.reason = "the AMD GPU at " + gpu + (archs.empty() ? "" : " (" + archs + ")") +
                   " is present and can be opened";
  if (archs.empty()) {
    finding.hint =
        "check with `rocminfo` whether the HSA runtime lists it; if not, this release of "
        "ROCm does not support the chip, or does not fit the kernel driver";
    return finding;
  }
  finding.reason += ", but this release of ROCm may not support it";
  finding.hint =
      "check with `rocminfo | grep gfx` whether the HSA runtime lists it; if not, install "
      "a release of ROCm that supports " +
      archs;
  if (has_twin(archs)) finding.hint += ", or try `HSA_OVERRIDE_GFX_VERSION=10.3.0 hiptool devices`";
  return finding;
}

}  // namespace

std::string hint_of_override(const GetVariable& get_variable) {
  const char* const value = get_variable(override_variable);
  if (value == nullptr || *value == '\0') return {};
  return std::string(override_variable) + " is \"" + value +
         "\", which makes the GPU appear as another chip: " + unset_hint(override_variable);
}

DriverFinding explain_no_device(const fs::path& root, const GetVariable& get_variable) {
  const std::string gpu = system::find_gpu(root, system::vendor_amd);
  if (gpu.empty()) {
    return {"no AMD GPU is on the PCI bus",
            "check with `lspci -nn -d 1002:`; a virtual machine must be given the GPU by its host"};
  }
  if (DriverFinding files = system::explain_amd(root); !files.reason.empty()) return files;
  if (const auto hiding = find_hiding(get_variable)) {
    return {"the AMD GPU at " + gpu + " may be hidden by " + hiding->first + ", which is \"" +
                hiding->second + "\"",
            unset_hint(hiding->first)};
  }
  const std::string archs = join_archs(system::read_kfd_nodes(root));
  const char* const value = get_variable(override_variable);
  if (value != nullptr && *value != '\0') {
    return {std::string(override_variable) + ", which is \"" + value + "\", makes the AMD GPU at " +
                gpu + (archs.empty() ? "" : " (" + archs + ")") + " appear as another chip",
            unset_hint(override_variable)};
  }
  return explain_unknown_chip(gpu, archs);
}

}  // namespace hiptool::hip::amd
