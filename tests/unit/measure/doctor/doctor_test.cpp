// SPDX-License-Identifier: MIT
#include "measure/doctor/doctor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "kernels/images.hpp"
#include "tree_file.hpp"

using namespace hiptool;
using namespace hiptool::measure;

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
  const auto targets = kernels::embedded_targets();
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

}  // namespace

TEST_CASE(
    "doctor: each tree gives exactly what it expects, each check, its source and what to do") {
  const auto paths = tree_paths();
  CHECK(paths.size() >= 28);
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
            "info hipBLASLt: /lib/libhipblaslt.so.1",
            "info MIOpen is missing: no MIOpen was found"});
}
