// SPDX-License-Identifier: MIT
/// `hiptool check` on machines whose files and driver are both made: two fake GPUs with places on a
/// PCI bus.
#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../../system/synthetic_tree.hpp"
#include "harness.hpp"
#include "hip/api.hpp"

using namespace hiptool;
using namespace hiptool::cli::testing;

namespace {

hip::hipError_t write_bus_id(char* id, int length, int ordinal) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", 0x65 + 0x10 * ordinal);
  return hip::hipSuccess;
}

/// Fake GPUs at 0000:65:00.0, 0000:75:00.0 and so on.
class PlacedGpus final : public hip::Binder {
 public:
  explicit PlacedGpus(int gpus) : inner_(gpus) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = inner_.bind(platform, request);
    if (platform != Platform::nvidia || binding.api == nullptr) return binding;
    static hip::Api placed;  // tables live to the end of the process
    placed = *binding.api;
    placed.hipDeviceGetPCIBusId = write_bus_id;
    binding.api = &placed;
    binding.status.library = "/usr/lib/driver.so.1";
    return binding;
  }

 private:
  FakeBinder inner_;
};

/// A machine with `on_bus` GPUs, of which the driver shows `shown`.
struct GpuMachine {
  GpuMachine(int on_bus, int shown) {
    for (int i = 0; i < on_bus; ++i) {
      char id[32];
      write_bus_id(id, sizeof id, i);
      tree.add_pci(id, "0x10de", "0x2335", "0x030200", "nvidia");
      tree.write("dev/nvidia" + std::to_string(i), "");
    }
    tree.write("sys/module/nvidia/version", "580.1");
    machine.system_root = tree.root();
    machine.binder = std::make_shared<PlacedGpus>(shown);
  }

  nlohmann::json check(int code, std::vector<std::string> words) {
    words.insert(words.begin(), "check");
    words.insert(words.end(), {"--format", "json"});
    const int got = machine.run(words);
    CAPTURE(machine.out.text);
    CAPTURE(machine.err.text);
    CHECK(got == code);
    return nlohmann::json::parse(machine.out.text);
  }

  system::SyntheticTree tree;
  Machine machine;
};

std::string first_line(const nlohmann::json& document) {
  return document["shown"]["lines"][0]["text"];
}

}  // namespace

TEST_CASE("check: a GPU that fell off the bus refuses the machine, whatever the stages") {
  const std::vector<std::vector<std::string>> words{
      {"--stage", "doctor"}, {"--stage", "copy", "--size", "64KiB", "--spread", "99%"}};
  for (const auto& some : words) {
    GpuMachine lost(3, 2);
    const nlohmann::json document = lost.check(1, some);
    CHECK(starts_with(first_line(document),
                      "refused: machine: doctor: hidden: nvidia: the runtime shows 2 of 3 GPUs; "
                      "lost, though on the PCI bus: 0000:85:00.0"));
    CHECK(document["devices"].size() == 2);
    for (const auto& device : document["devices"]) CHECK(device["passed"] == false);
  }
}

TEST_CASE("check: devices that the user names do not need the others") {
  GpuMachine lost(3, 2);
  lost.check(0, {"--device", "nvidia:0,nvidia:1", "--stage", "copy", "--size", "64KiB", "--spread",
                 "99%"});
}

TEST_CASE("check: fewer GPUs than expected refuse the machine, and are named") {
  GpuMachine whole(2, 2);
  const std::string file = (whole.tree.root() / "expect.json").string();
  const std::vector<std::string> small{"--stage", "copy", "--size", "64KiB", "--spread", "99%"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), small.begin(), small.end());
    return more;
  };
  whole.check(0, with({"--write-expect", file, "--margin", "99%"}));
  const auto written = nlohmann::json::parse(start_of(file));
  const std::string name = written["gpus"].begin().key();
  CHECK(written["machines"] == nlohmann::json::array({{{name, 2}}}));

  const auto met = whole.check(0, with({"--expect", file}));
  CHECK(met["expect"]["gpus"] ==
        nlohmann::json::array({{{"name", name}, {"expected", 2}, {"found", 2}}}));

  GpuMachine less(1, 1);
  const auto missing = less.check(1, with({"--expect", file}));
  CHECK(starts_with(first_line(missing),
                    "refused: machine: doctor: gpu-count: 1 of 2 " + name + " found"));
  CHECK(missing["failures"][0]["expected"] == "2 " + name);
  CHECK(missing["devices"][0]["passed"] == false);
  // The user chose one of them.
  less.check(0, with({"--expect", file, "--device", "nvidia:0"}));

  GpuMachine none(0, 0);
  const auto empty = none.check(1, with({"--expect", file}));
  CHECK(starts_with(first_line(empty),
                    "refused: machine: doctor: gpu-count: 0 of 2 " + name + " found"));
  CHECK(empty["devices"].empty());
}

TEST_CASE("check: the first line counts the doctor's warnings, of the devices that are checked") {
  GpuMachine two(2, 2);
  const auto of_both = two.check(0, {"--stage", "doctor"});
  std::size_t warnings = 0;
  std::size_t unknown = 0;
  std::size_t absent = 0;
  for (const auto& one : of_both["doctor"]) {
    warnings += one["severity"] == "warn" ? 1U : 0U;
    unknown += one["severity"] == "unknown" && one["applies"] == true ? 1U : 0U;
    absent += one["applies"] == false ? 1U : 0U;
  }
  REQUIRE(warnings >= 2);  // the fake's processor has no image for NVIDIA
  REQUIRE(absent >= 1);    // there is no AMD GPU
  CHECK(starts_with(first_line(of_both), "accepted: 2 GPUs, 1 stage each, " +
                                             std::to_string(warnings) + " warnings, " +
                                             std::to_string(unknown) + " not examined, in "));
  CHECK(contains(of_both["shown"]["notes"].dump(), "gfx-target"));
  const auto of_one = two.check(0, {"--stage", "doctor", "--device", "nvidia:1"});
  CHECK(starts_with(first_line(of_one),
                    "accepted: 1 GPU, 1 stage each, " + std::to_string(warnings - 1) + " warning"));
}
