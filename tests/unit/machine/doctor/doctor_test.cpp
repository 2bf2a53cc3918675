// SPDX-License-Identifier: MIT
#include "machine/doctor/doctor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "kernel_store/images.hpp"
#include "tree_file.hpp"

using namespace hiptool;
using namespace hiptool::machine;

namespace {

constexpr std::array<std::string_view, 3> tree_targets{"gfx942", "gfx1100", "gfx1103"};

std::vector<std::string> tree_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TREES)) {
    if (entry.path().extension() == ".tree") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Whether this build has images for the GPUs of the trees: -Damd_targets may leave some out.
bool has_images() {
  const auto targets = kernel_store::embedded_targets();
  return std::all_of(tree_targets.begin(), tree_targets.end(), [&](std::string_view target) {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
  });
}

// Without those images, all but what is said of them.
std::string lines_of(const std::vector<std::string>& words) {
  static const bool is_whole = has_images();
  std::string text;
  for (const std::string& word : words) {
    if (!is_whole && word.find(" gfx-target") != std::string::npos) continue;
    text += "expect " + word + "\n";
  }
  return text;
}

Check only(const std::vector<Check>& checks, const std::string& id) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [&](const Check& check) { return check.id == id; });
  REQUIRE(found != checks.end());
  return *found;
}

std::string tree(const char* name) { return std::string(TREES) + "/" + name; }

}  // namespace

TEST_CASE(
    "doctor: each tree gives exactly what it expects, each check, its source and what to do") {
  const auto paths = tree_paths();
  CHECK(paths.size() >= 29);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const TreeFile file = read_tree_file(path);
    const auto checks = examine(file.evidence);
    CHECK(lines_of(found_in(checks)) == lines_of(file.expected));
    for (const std::string_view id : check_ids()) {
      CAPTURE(id);
      CHECK(std::any_of(checks.begin(), checks.end(),
                        [&](const Check& check) { return check.id == id; }));
    }
    for (const Check& check : checks) {
      CAPTURE(check.id);
      CHECK(std::count(check_ids().begin(), check_ids().end(), check.id) == 1);
      CHECK_FALSE(check.source.empty());
      CHECK_FALSE(check.read.empty());
      const bool is_trouble = check.severity == Severity::warn ||
                              check.severity == Severity::fail ||
                              check.severity == Severity::unknown;
      if (is_trouble) CHECK_FALSE(check.fix.empty());
      if (check.severity == Severity::unknown) CHECK(check.device.empty());
      if (check.severity == Severity::pass) CHECK(check.fix.empty());
    }
  }
}

TEST_CASE("doctor: libraries with their versions, and GPUs that they have no kernels for") {
  Evidence evidence;
  evidence.root = "/nowhere";
  DoctorGpu gpu;
  gpu.platform = Platform::amd;
  gpu.id = "amd:0";
  gpu.info.arch = "gfx1152:xnack-";
  evidence.gpus.push_back(gpu);
  evidence.libraries = {
      {Platform::amd, "rocBLAS", "/lib/librocblas.so.5", "5.1.0", "", {"gfx1100", "gfx1151"}},
      {Platform::amd, "hipBLASLt", "/lib/libhipblaslt.so.1", "", "", {"gfx1152"}},
      {Platform::amd, "MIOpen", "", "", "no MIOpen was found", {}},
      {Platform::amd, "MIOpen", "", "", "libMIOpen.so.1: cannot open shared object file", {}},
      {Platform::cpu, "OpenBLAS", "/lib/libopenblas.so.0", "9.1", "reports version 9.1", {}}};
  std::vector<std::string> found;
  for (const Check& check : examine(evidence)) {
    if (check.id != "libraries") continue;
    found.push_back(std::string(to_string(check.severity)) + " " + check.read);
    CHECK((check.severity != Severity::warn || !check.fix.empty()));
  }
  CHECK(found ==
        std::vector<std::string>{
            "warn rocBLAS 5.1.0 has no kernels for gfx1152 (amd:0) in it: /lib/librocblas.so.5",
            "warn OpenBLAS cannot be used: reports version 9.1",
            "info hipBLASLt: /lib/libhipblaslt.so.1", "info no MIOpen was found",
            "info MIOpen cannot be used: libMIOpen.so.1: cannot open shared object file"});
}

TEST_CASE("doctor: GPUs that one reason leaves unknown are listed as ranges") {
  Evidence evidence;
  evidence.root = "/nowhere";
  for (const char* id : {"nvidia:0", "nvidia:1", "nvidia:2", "nvidia:4"}) {
    DoctorGpu gpu;
    gpu.platform = Platform::nvidia;
    gpu.id = id;
    evidence.gpus.push_back(gpu);
  }
  CHECK(only(examine(evidence), "driver-bound").read ==
        "nvidia:0-2, nvidia:4: its address on the PCI bus is unknown");
}

TEST_CASE("doctor: a GPU that the bus lists and the runtime does not is lost, and named") {
  TreeFile file = read_tree_file(tree("nvidia_gpu_lost.tree"));
  const Check lost = only(examine(file.evidence), "hidden");
  CHECK(lost.severity == Severity::fail);
  CHECK(lost.read ==
        "nvidia: the runtime shows 2 of 3 GPUs; lost, though on the PCI bus: 0000:85:00.0");
  CHECK(lost.fix.find("fallen off the bus") != std::string::npos);

  SUBCASE("not where the user hides it") {
    file.evidence.getenv = [](const char* name) -> std::optional<std::string> {
      return std::string_view(name) == "CUDA_VISIBLE_DEVICES" ? std::optional("0,1") : std::nullopt;
    };
    const Check hidden = only(examine(file.evidence), "hidden");
    CHECK(hidden.severity == Severity::warn);
    CHECK(hidden.fix == "`unset CUDA_VISIBLE_DEVICES`");
  }
  SUBCASE("not where a container was not given it") {
    std::filesystem::remove(file.tree->root() / "dev/nvidia2");
    CHECK(only(examine(file.evidence), "hidden").severity == Severity::pass);
  }
  SUBCASE("not with another driver, which is on purpose") {
    file.evidence.gpus.back().pci->driver = "vfio-pci";
    CHECK(only(examine(file.evidence), "hidden").severity == Severity::warn);
  }
  SUBCASE("not with MIG, which shows one instance of all GPUs") {
    file.evidence.gpus.front().sensors.partitioned = true;
    CHECK(only(examine(file.evidence), "hidden").severity == Severity::warn);
  }
  SUBCASE("not where the runtime's bus ids are unknown to the bus") {
    file.evidence.gpus.front().pci.reset();
    CHECK(only(examine(file.evidence), "hidden").severity == Severity::warn);
  }
}

TEST_CASE("doctor: an AMD GPU is lost if it is like one that the runtime lists") {
  TreeFile file = read_tree_file(tree("two_sockets.tree"));
  file.evidence.getenv = {};
  const Check lost = only(examine(file.evidence), "hidden");
  CHECK(lost.severity == Severity::fail);
  CHECK(lost.read ==
        "amd: the runtime shows 1 of 2 GPUs; lost, though on the PCI bus: 0000:05:00.0");
  SUBCASE("one of another type may be unsupported") {
    file.evidence.gpus.back().pci->device = 0x164e;
    CHECK(only(examine(file.evidence), "hidden").severity == Severity::warn);
  }
  SUBCASE("a container may not have been given its render node") {
    std::filesystem::remove(file.tree->root() / "dev/dri/renderD128");
    CHECK(only(examine(file.evidence), "hidden").severity == Severity::warn);
  }
}
