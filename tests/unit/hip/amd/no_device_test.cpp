// SPDX-License-Identifier: MIT
#include "hip/amd/no_device.hpp"

#include <doctest/doctest.h>

#include <map>

#include "unit/system/synthetic_tree.hpp"

namespace hiptool::hip::amd {
namespace {

using doctest::Contains;
using system::DriverFinding;
using system::SyntheticTree;

DriverFinding explain(const SyntheticTree& tree,
                      const std::map<std::string, std::string>& variables = {}) {
  return explain_no_device(tree.root(), [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

/// A GPU that files show nothing wrong with.
void add_gpu(const SyntheticTree& tree, const std::string& gfx_target_version) {
  tree.add_pci("0000:65:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
  tree.write("sys/module/amdgpu/version", "6.16.6");
  tree.write("dev/kfd", "");
  tree.write("dev/dri/renderD128", "");
  tree.add_kfd_node(0, "0", 0);
  const std::string folder = "sys/class/kfd/kfd/topology/nodes/1/";
  tree.write(folder + "gpu_id", "51216");
  tree.write(folder + "properties",
             "gfx_target_version " + gfx_target_version + "\ndrm_render_minor 128");
}

}  // namespace

TEST_CASE("no AMD GPU in the machine, though one of another vendor") {
  const SyntheticTree tree;
  tree.add_pci("0000:18:00.0", "0x10de", "0x2335", "0x030200", "nvidia");
  const DriverFinding finding = explain(tree, {{"ROCR_VISIBLE_DEVICES", "0"}});
  CHECK(finding.reason == "no AMD GPU is on the PCI bus");
  CHECK(finding.hint.c_str() == Contains("`lspci -nn -d 1002:`"));
}

TEST_CASE("what files show goes before what may hide a device") {
  const SyntheticTree tree;
  tree.add_pci("0000:65:00.0", "0x1002", "0x74a1", "0x120000", "vfio-pci");
  CHECK(explain(tree, {{"ROCR_VISIBLE_DEVICES", "0"}}).reason.c_str() ==
        Contains("bound to vfio-pci"));
}

TEST_CASE("each variable that hides devices is named with its value") {
  const SyntheticTree tree;
  add_gpu(tree, "90402");
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                           "GPU_DEVICE_ORDINAL"}) {
    CAPTURE(name);
    const DriverFinding finding = explain(tree, {{name, "7"}, {"HSA_OVERRIDE_GFX_VERSION", "9"}});
    CHECK(finding.reason ==
          "the AMD GPU at 0000:65:00.0 may be hidden by " + std::string(name) + ", which is \"7\"");
    CHECK(finding.hint == "run `unset " + std::string(name) + "` and try again");
  }
}

TEST_CASE("an empty list hides all from the HSA runtime and nothing from HIP") {
  const SyntheticTree tree;
  add_gpu(tree, "90402");
  CHECK(explain(tree, {{"ROCR_VISIBLE_DEVICES", ""}}).reason.c_str() == Contains("which is \"\""));
  for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    CHECK(explain(tree, {{name, ""}}).reason.c_str() == Contains("(gfx942)"));
  }
}

TEST_CASE("a chip that appears as another one") {
  const SyntheticTree tree;
  add_gpu(tree, "100301");
  const DriverFinding finding = explain(tree, {{"HSA_OVERRIDE_GFX_VERSION", "8.0.3"}});
  CHECK(finding.reason ==
        "HSA_OVERRIDE_GFX_VERSION, which is \"8.0.3\", makes the AMD GPU at "
        "0000:65:00.0 (gfx1031) appear as another chip");
  CHECK(finding.hint == "run `unset HSA_OVERRIDE_GFX_VERSION` and try again");
}

TEST_CASE("a chip that this release may not know is named as ROCm names it") {
  const SyntheticTree instinct;
  add_gpu(instinct, "90402");
  const DriverFinding known = explain(instinct);
  CHECK(
      known.reason ==
      "the AMD GPU at 0000:65:00.0 (gfx942) is present and can be opened, but this release of ROCm "
      "may not support it");
  CHECK(known.hint.c_str() == Contains("`rocminfo | grep gfx`"));
  CHECK(known.hint.c_str() == Contains("that supports gfx942"));
  CHECK(known.hint.find("HSA_OVERRIDE") == std::string::npos);

  const SyntheticTree radeon;
  add_gpu(radeon, "100301");
  CHECK(explain(radeon).hint.c_str() ==
        Contains("`HSA_OVERRIDE_GFX_VERSION=10.3.0 hiptool devices`"));
  const SyntheticTree first_of_its_kind;
  add_gpu(first_of_its_kind, "100300");
  CHECK(explain(first_of_its_kind).hint.find("HSA_OVERRIDE") == std::string::npos);

  const SyntheticTree silent;
  add_gpu(silent, "0");
  CHECK(explain(silent).reason == "the AMD GPU at 0000:65:00.0 is present and can be opened");
  CHECK(explain(silent).hint.c_str() == Contains("`rocminfo`"));
}

TEST_CASE("several chips are named once each") {
  const SyntheticTree tree;
  add_gpu(tree, "90402");
  tree.write("dev/dri/renderD129", "");
  tree.add_kfd_node(2, "51217", 129);
  CHECK(explain(tree).reason.c_str() == Contains("(gfx942)"));
  tree.write("sys/class/kfd/kfd/topology/nodes/2/properties", "gfx_target_version 100301");
  CHECK(explain(tree).reason.c_str() == Contains("(gfx942, gfx1031)"));
  CHECK(explain(tree).hint.find("HSA_OVERRIDE") == std::string::npos);
}

}  // namespace hiptool::hip::amd
