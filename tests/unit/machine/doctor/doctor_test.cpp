// SPDX-License-Identifier: MIT
#include "machine/doctor/doctor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "kernel_store/images.hpp"
#include "machine/codes.hpp"
#include "machine/kernel_events.hpp"
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

// nvidia-smi -i takes a PCI bus id or a UUID, amd-smi -g a bus id; an index need not be the number
// that the runtime gives the GPU.
TEST_CASE("doctor: a fix names the GPU of its finding") {
  Evidence evidence;
  evidence.root = "/nowhere";
  const auto add = [&evidence](Platform platform, const char* id, const char* bus_id,
                               const char* uuid) {
    DoctorGpu gpu;
    gpu.platform = platform;
    gpu.id = id;
    if (bus_id != nullptr) gpu.info.pci_bus_id = bus_id;
    if (uuid != nullptr) gpu.info.uuid = uuid;
    gpu.sensor_source = "a sensor";
    gpu.sensors.corrected_errors = 0;
    gpu.sensors.repair_pending = true;
    gpu.sensors.power_limit_w = 600;
    gpu.sensors.default_power_limit_w = 700;
    gpu.sensors.persistence_enabled = false;
    gpu.sensors.throttle_reasons = {"power cap"};
    evidence.gpus.push_back(gpu);
  };
  add(Platform::nvidia, "nvidia:7", "0000:0c:00.0", "GPU-8d2f4c8a");
  add(Platform::nvidia, "nvidia:8", nullptr, "GPU-11112222");
  add(Platform::nvidia, "nvidia:9", nullptr, "MIG-33334444");
  add(Platform::amd, "amd:1", "0000:c1:00.0", "GPU-5a1d00c0");
  std::string fixes;
  for (const Check& check : examine(evidence)) {
    for (const char* id : {"ecc", "power-cap", "persistence", "throttle"}) {
      if (check.id == id && !check.device.empty()) fixes += check.device + " " + check.fix + "\n";
    }
  }
  CHECK(fixes ==
        "nvidia:7 `sudo nvidia-smi -i 0000:0c:00.0 --gpu-reset`\n"
        "nvidia:8 `sudo nvidia-smi -i GPU-11112222 --gpu-reset`\n"
        "nvidia:9 `sudo nvidia-smi -i GPU --gpu-reset`\n"
        "amd:1 `sudo amd-smi reset -g 0000:c1:00.0 --gpureset`\n"
        "nvidia:7 check cooling and power supply; check with `nvidia-smi -i 0000:0c:00.0 -q`\n"
        "nvidia:8 check cooling and power supply; check with `nvidia-smi -i GPU-11112222 -q`\n"
        "nvidia:9 check cooling and power supply; check with `nvidia-smi -i GPU -q`\n"
        "amd:1 check cooling and power supply; check with `amd-smi metric -g 0000:c1:00.0`\n"
        "nvidia:7 `sudo nvidia-smi -i 0000:0c:00.0 -pl 700`\n"
        "nvidia:8 `sudo nvidia-smi -i GPU-11112222 -pl 700`\n"
        "nvidia:9 `sudo nvidia-smi -i GPU -pl 700`\n"
        "amd:1 `sudo amd-smi set -g 0000:c1:00.0 --power-cap 700`\n"
        "nvidia:7 `sudo nvidia-smi -i 0000:0c:00.0 -pm 1`\n"
        "nvidia:8 `sudo nvidia-smi -i GPU-11112222 -pm 1`\n"
        "nvidia:9 `sudo nvidia-smi -i GPU -pm 1`\n");
}

TEST_CASE("doctor: a fix of an Xid names the GPU in its message") {
  const auto event = find_event("NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', DBE");
  REQUIRE(event);
  CHECK(event->fix.find("`sudo nvidia-smi -i 0000:3b:00.0 --gpu-reset`") != std::string::npos);
  const CodeInfo* const code = find_code("HT-XID-48");
  REQUIRE(code != nullptr);
  CHECK(code->advice.find("`sudo nvidia-smi -i GPU --gpu-reset`") != std::string::npos);
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
