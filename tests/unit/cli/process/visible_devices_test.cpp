// SPDX-License-Identifier: MIT
#include "cli/process/visible_devices.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "harness.hpp"
#include "hip/api.hpp"
#include "machine/selection.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using hiptool::cli::testing::Machine;

namespace {

// A synthetic machine, by the PCI ids of its GPUs' vendors.
struct Gpus {
  test::TemporaryFolder folder;

  Gpus(int nvidia, int amd) {
    std::filesystem::create_directories(folder.path() / "dev/nvidia-caps");
    std::ofstream(folder.path() / "dev/nvidiactl");
    for (int i = 0; i < nvidia; ++i) {
      add("0x10de", i);
      std::ofstream(folder.path() / ("dev/nvidia" + std::to_string(i)));
    }
    for (int i = 0; i < amd; ++i) add("0x1002", 20 + i);
  }

  void add(const std::string& vendor, int number) const {
    const auto device =
        folder.path() / ("sys/bus/pci/devices/0000:" + std::to_string(10 + number) + ":00.0");
    std::filesystem::create_directories(device);
    std::ofstream(device / "vendor") << vendor << '\n';
    std::ofstream(device / "device") << "0x2335\n";
    std::ofstream(device / "class") << "0x030200\n";
  }

  /// "CUDA_VISIBLE_DEVICES: ordinals", empty: nothing is hidden.
  std::string limited(const std::vector<std::string>& ids,
                      const std::optional<std::string>& visible = {},
                      std::optional<Platform> platform = {}) const {
    machine::DeviceSelection selection;
    selection.ids = ids;
    selection.platform = platform;
    const auto found = limit_visible_devices(selection, visible, folder.path());
    if (!found) return "";
    std::string text = found->variable + ":";
    for (const int ordinal : found->ordinals) text += " " + std::to_string(ordinal);
    return text;
  }
};

// One GPU, whose memory is full.
class FullGpuBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = testing::FakeBinder(1).bind(platform, request);
    if (platform != Platform::nvidia) return binding;
    static hip::Api api;
    api = *binding.api;
    api.hipMalloc = [](void**, std::size_t) { return hip::hipErrorOutOfMemory; };
    binding.api = &api;
    return binding;
  }
};

}  // namespace

TEST_CASE("visible devices: the selected ones, with the numbers that they have among all") {
  const Gpus gpus(4, 0);
  CHECK(gpus.limited({}) == "0: 0");
  CHECK(gpus.limited({"nvidia"}) == "0: 0");
  CHECK(gpus.limited({"nvidia:2"}) == "2: 2");
  CHECK(gpus.limited({"nvidia:3", "nvidia:1", "nvidia:3"}) == "1,3: 1 3");
  CHECK(gpus.limited({"nvidia:1", "cpu"}) == "1: 1");
  CHECK(gpus.limited({}, {}, Platform::nvidia) == "0: 0");
}

TEST_CASE("visible devices: a list of the user is counted as the driver counts it") {
  const Gpus gpus(4, 0);
  CHECK(gpus.limited({"nvidia:1"}, "3,2,0") == "2: 1");
  CHECK(gpus.limited({"nvidia:1"}, "3,02,0") == "2: 1");
  for (const char* visible :
       {"", "-1", "0,9", "0,0,1", "0,00,1", "0, 1", "NoDevFiles", "1,", "2"}) {
    CAPTURE(std::string(visible));
    CHECK(gpus.limited({}, visible) == "");
  }
}

// Files do not show whether a UUID exists, nor which number is the same device.
TEST_CASE("visible devices: a list of the user with a uuid is left to the driver") {
  const Gpus gpus(4, 0);
  for (const char* visible : {"GPU-8d2f,1", "0,GPU-ffff,1", "1,GPU-8d2f", "GPU-8d2f4c8a,GPU-8d,2",
                              "0,1,gpu-8d2f", "0,MIG-1a,MIG-2b", "MIG-GPU-8d2f/1/0,1"}) {
    CAPTURE(std::string(visible));
    CHECK(gpus.limited({}, visible) == "");
    CHECK(gpus.limited({"nvidia:1"}, visible) == "");
  }
}

TEST_CASE("visible devices: nothing is hidden where it is not clear what is meant") {
  const Gpus gpus(4, 0);
  for (const char* id :
       {"all", "GPU-8d2f", "0000:65:00.0", "nvidia:4", "nvidia:-1", "nvidia:x", "amd:0"}) {
    CAPTURE(std::string(id));
    CHECK(gpus.limited({id}) == "");
  }
  CHECK(gpus.limited({"cpu"}) == "");
  CHECK(gpus.limited({}, {}, Platform::cpu) == "");
  CHECK(gpus.limited({"nvidia:0", "nvidia:1", "nvidia:2", "nvidia:3"}) == "");
  CHECK(Gpus(1, 0).limited({}) == "");
  CHECK(Gpus(0, 0).limited({}) == "");
  CHECK(Gpus(2, 1).limited({"nvidia:1"}) == "");
  // A container with two of the host's four GPUs.
  const Gpus container(4, 0);
  for (const char* node : {"dev/nvidia0", "dev/nvidia2"}) {
    std::filesystem::remove(container.folder.path() / node);
  }
  CHECK(container.limited({"nvidia:3"}) == "");
  CHECK(container.limited({"nvidia:1"}) == "1: 1");
  std::filesystem::create_directories(gpus.folder.path() /
                                      "proc/driver/nvidia/capabilities/gpu1/mig/gi5");
  CHECK(gpus.limited({}) == "");
  CHECK(gpus.limited({}, "0,1") == "");
}

TEST_CASE("visible devices: load and run-kernel hide the others, a measurement does not") {
  const Gpus gpus(3, 0);
  Machine machine;
  machine.gpus = 1;
  machine.system_root = gpus.folder.path();
  CHECK(machine.run({"load", "--demo", "--device", "nvidia:2", "--format", "json"}) == 0);
  CHECK(machine.changed_variables["CUDA_VISIBLE_DEVICES"] == "2");
  CHECK(testing::contains(machine.out.text, "\"nvidia:2\""));
  CHECK_FALSE(testing::contains(machine.out.text, "\"nvidia:0\""));
  machine.changed_variables.clear();
  machine.run({"run-kernel", "memset", "--size", "4K"});  // fails: the fake GPU has no images
  CHECK(machine.changed_variables["CUDA_VISIBLE_DEVICES"] == "0");
  machine.changed_variables.clear();
  machine.gpus = 3;
  // A fit names the other GPUs that could take a part.
  machine.run({"load", "--demo", "--dry-run", "--context", "64", "--device", "nvidia:1"});
  machine.run({"load", "--demo", "--context", "64", "--device", "nvidia:1"});
  CHECK(machine.run({"devices"}) == 0);
  CHECK(machine.changed_variables.empty());
}

TEST_CASE("visible devices: a load that does not fit points to the GPUs that were hidden") {
  for (const int gpus_in_machine : {1, 3}) {
    CAPTURE(gpus_in_machine);
    const Gpus gpus(gpus_in_machine, 0);
    Machine machine;
    machine.binder = std::make_shared<FullGpuBinder>();
    machine.system_root = gpus.folder.path();
    CHECK(machine.run({"load", "--demo", "--verify", "none", "--device", "nvidia:0"}) == 3);
    const bool names_them = testing::contains(machine.err.text, "--device all --split bytes");
    CHECK(names_them == (gpus_in_machine > 1));
  }
}
