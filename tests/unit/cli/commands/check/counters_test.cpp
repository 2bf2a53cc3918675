// SPDX-License-Identifier: MIT
/// `hiptool check` on machines whose error counters and kernel's log change while a stage runs: two
/// fake GPUs with a made tree of files.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../../system/synthetic_tree.hpp"
#include "harness.hpp"
#include "hip/api.hpp"

using namespace hiptool;
using namespace hiptool::cli::testing;

namespace {

constexpr std::size_t copied_bytes = 64 << 10;  // by the stage, and by no copy of the doctor

/// What happens before the first copy of the stage.
struct Trigger {
  std::mutex mutex;
  std::function<void()> happen;
};

Trigger& trigger() {
  static Trigger one;
  return one;
}

const hip::Api*& inner_api() {
  static const hip::Api* api = nullptr;
  return api;
}

hip::hipError_t place(char* id, int length, int ordinal) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", 0x65 + 0x10 * ordinal);
  return hip::hipSuccess;
}

hip::hipError_t copy(void* destination, const void* source, std::size_t bytes,
                     hip::hipMemcpyKind kind, hip::hipStream_t stream) {
  std::function<void()> happen;
  if (bytes == copied_bytes) {
    const std::lock_guard lock(trigger().mutex);
    happen = std::exchange(trigger().happen, nullptr);
  }
  if (happen) happen();
  return inner_api()->hipMemcpyAsync(destination, source, bytes, kind, stream);
}

/// Two devices of the processor as the GPUs of one vendor, at 0000:65:00.0 and 0000:75:00.0.
class TwoGpus final : public hip::Binder {
 public:
  explicit TwoGpus(Platform vendor) : vendor_(vendor) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::BindRequest chosen = request;
    chosen.cpu_devices = 2;
    hip::Binding binding = hip::bind_cpu(chosen);
    binding.status.platform = platform;
    if (platform == Platform::cpu) return binding;
    if (platform != vendor_) {
      hip::Binding none;
      none.status.platform = platform;
      none.status.reason = "no runtime library was found";
      return none;
    }
    static hip::Api placed;  // tables live to the end of the process
    inner_api() = binding.api;
    placed = *binding.api;
    placed.hipDeviceGetPCIBusId = place;
    placed.hipMemcpyAsync = copy;
    binding.api = &placed;
    binding.status.library = "/usr/lib/driver.so.1";
    return binding;
  }

 private:
  Platform vendor_;
};

const std::string second_gpu = "sys/bus/pci/devices/0000:75:00.0/";
const std::string quiet_log = "6,5,1,-;usb 1-1: new device\n";

/// Everything that one run wrote.
struct Outputs {
  int code = 0;
  nlohmann::json document;
  std::vector<std::pair<std::string, std::string>> texts;  ///< by format
};

struct CounterMachine {
  explicit CounterMachine(Platform vendor) {
    const bool is_amd = vendor == Platform::amd;
    for (const char* id : {"0000:65:00.0", "0000:75:00.0"}) {
      tree.add_pci(id, is_amd ? "0x1002" : "0x10de", "0x2335", "0x030200",
                   is_amd ? "amdgpu" : "nvidia");
      const std::string folder = std::string("sys/bus/pci/devices/") + id + "/";
      tree.write(folder + "pcie_replay_count", "7");
      tree.write(folder + "ras/umc_err_count", "ue: 0\nce: 3");
      tree.write(folder + "ras/xgmi_wafl_err_count", "ue: 0\nce: 0");
      tree.write(folder + "aer_dev_correctable", "Bad TLP 0\nTOTAL_ERR_COR 0");
      tree.write(folder + "aer_dev_fatal", "TOTAL_ERR_FATAL 0");
      tree.write(folder + "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 0");
      tree.write(folder + "hwmon/hwmon1/freq1_input", "2100000000");
      tree.write(folder + "hwmon/hwmon1/temp1_input", "46000");
    }
    tree.write("sys/module/amdgpu/version", "1");
    tree.write("sys/module/nvidia/version", "580.1");
    tree.write("dev/kmsg", quiet_log);
    machine.system_root = tree.root();
    machine.binder = std::make_shared<TwoGpus>(vendor);
  }

  /// A run with all formats, in which `happen` is called under the stage "copy".
  Outputs check(std::function<void()> happen, const std::vector<std::string>& more = {}) {
    {
      const std::lock_guard lock(trigger().mutex);
      trigger().happen = std::move(happen);
    }
    std::vector<std::string> words{"check", "--stage",  "copy", "--size",
                                   "64KiB", "--spread", "99%"};
    words.insert(words.end(), more.begin(), more.end());
    const std::vector<std::string> formats{"json", "junit", "prom", "html", "markdown", "csv"};
    for (const std::string& format : formats) {
      words.insert(words.end(), {"--export", format + "=" + file(format)});
    }
    Outputs outputs;
    outputs.code = machine.run(words);
    outputs.texts = {{"screen", machine.out.text}};
    for (const std::string& format : formats) {
      std::ifstream stream(file(format));
      outputs.texts.emplace_back(format, std::string(std::istreambuf_iterator<char>(stream), {}));
    }
    outputs.document = nlohmann::json::parse(outputs.texts[1].second);
    return outputs;
  }

  std::string file(const std::string& format) const {
    return (tree.root() / ("out." + format)).string();
  }

  system::SyntheticTree tree;
  Machine machine;
};

/// The findings of a stage on a device, failures and warnings.
std::vector<nlohmann::json> findings_of(const nlohmann::json& document, const std::string& stage,
                                        const std::string& device) {
  std::vector<nlohmann::json> found;
  for (const auto& one : document["stages"]) {
    if (one["stage"] != stage || one["device"] != device) continue;
    for (const auto& fault : one["faults"]) found.push_back(fault);
    for (const auto& warning : one["warnings"]) found.push_back(warning);
  }
  return found;
}

struct Happening {
  Platform vendor;
  std::string code;
  int exit_code;
  std::string action_class;
  std::string file;
  std::string text;
};

}  // namespace

namespace {

/// A file gpu_metrics of version 1.3 whose throttle status has the bit
/// SMU_THROTTLER_PROCHOT_GFX_BIT.
std::string throttled_metrics() {
  std::string bytes(120, '\0');
  bytes[2] = 1;
  bytes[3] = 3;
  bytes[112 + 47 / 8] = static_cast<char>(1 << 47 % 8);
  return bytes;
}

}  // namespace

TEST_CASE("check: a counter that grows under a stage is found by its code in every format") {
  const std::vector<Happening> happenings{
      {Platform::amd, "HT-ECC-CORRECTED", 0, "none", second_gpu + "ras/umc_err_count",
       "ue: 0\nce: 8"},
      {Platform::amd, "HT-ECC-UNCORRECTED", 1, "reset-gpu", second_gpu + "ras/umc_err_count",
       "ue: 1\nce: 3"},
      {Platform::amd, "HT-PCIE-REPLAY", 1, "config", second_gpu + "pcie_replay_count", "57"},
      {Platform::amd, "HT-PCIE-UNCORRECTED", 1, "config", second_gpu + "aer_dev_fatal",
       "TOTAL_ERR_FATAL 1"},
      {Platform::amd, "HT-XGMI-ERROR", 1, "reset-gpu", second_gpu + "ras/xgmi_wafl_err_count",
       "ue: 2\nce: 0"},
      {Platform::amd, "HT-AMDGPU-THROTTLE", 0, "config", "dev/kmsg",
       quiet_log + "4,6,2,-;amdgpu 0000:75:00.0: amdgpu: WARN: GPU is throttled, expect "
                   "performance decrease. VR."},
      {Platform::amd, "HT-THROTTLE", 1, "config", second_gpu + "gpu_metrics", throttled_metrics()},
      {Platform::nvidia, "HT-XID-79", 1, "reboot", "dev/kmsg",
       quiet_log + "4,6,2,-;NVRM: Xid (PCI:0000:75:00): 79, GPU has fallen off the bus."}};
  for (const Happening& one : happenings) {
    CAPTURE(one.code);
    CounterMachine counters(one.vendor);
    const Outputs outputs = counters.check([&] { counters.tree.write(one.file, one.text); });
    CAPTURE(outputs.texts.front().second);
    CAPTURE(counters.machine.err.text);
    CHECK(outputs.code == one.exit_code);
    const std::string gpu(to_string(one.vendor));
    std::size_t count = 0;
    for (const auto& finding : findings_of(outputs.document, "copy", gpu + ":1")) {
      if (finding["code"] != one.code) continue;
      ++count;
      CHECK(finding["action_class"] == one.action_class);
      CHECK_FALSE(finding["action"].get<std::string>().empty());
    }
    CHECK(count == 1);
    for (const auto& finding : findings_of(outputs.document, "copy", gpu + ":0")) {
      CHECK(finding["code"] != one.code);
    }
    if (one.exit_code != 0) {
      REQUIRE(outputs.document["failures"].size() == 1);
      CHECK(outputs.document["failures"][0]["code"] == one.code);
      CHECK(outputs.document["failures"][0]["action_class"] == one.action_class);
      CHECK(outputs.document["failures"][0]["stage"] == "copy");
    }
    for (const auto& output : outputs.texts) {
      CAPTURE(output.first);
      CHECK(contains(output.second, one.code));
    }
  }
}

TEST_CASE("check: a message about no GPU in particular refuses the machine and blames no GPU") {
  CounterMachine counters(Platform::amd);
  // The copies of one device have no result for the machine that could take the message.
  const Outputs outputs = counters.check(
      [&] {
        counters.tree.write("dev/kmsg",
                            quiet_log +
                                "3,6,2,-;[drm:amdgpu_device_init [amdgpu]] *ERROR* Fatal "
                                "error during GPU init");
      },
      {"--device", "amd:1"});
  CAPTURE(outputs.texts.front().second);
  CHECK(outputs.code == 1);
  std::size_t refused = 0;
  for (const auto& stage : outputs.document["stages"]) {
    if (stage["status"] != "failed") continue;
    ++refused;
    CHECK(stage["device"].is_null());
    CHECK(stage["code"] == "HT-AMDGPU-INIT");
  }
  CHECK(refused == 1);
  CHECK(contains(outputs.texts.front().second, "refused: machine: copy: "));
}

TEST_CASE("check: counters that stay as they are find nothing, and sensors stand beside rates") {
  CounterMachine counters(Platform::amd);
  const Outputs outputs = counters.check([] {});
  CHECK(outputs.code == 0);
  for (const auto& stage : outputs.document["stages"]) {
    CHECK(stage["warnings"].empty());
    if (stage["device"].is_null() || stage["stage"] == "doctor") continue;
    CHECK(stage["telemetry"]["median_clock_hz"] == 2.1e9);
    CHECK(stage["telemetry"]["most_temperature_c"] == 46);
  }
}

TEST_CASE("check: counters that cannot be read are no pass without a word, in any format") {
  CounterMachine counters(Platform::nvidia);  // there is no NVML here
  std::filesystem::remove(counters.tree.root() / "dev/kmsg");
  for (const char* id : {"0000:65:00.0", "0000:75:00.0"}) {
    const auto folder = counters.tree.root() / "sys/bus/pci/devices" / id;
    for (const char* name : {"aer_dev_correctable", "aer_dev_fatal", "aer_dev_nonfatal"}) {
      std::filesystem::remove(folder / name);
    }
  }
  const Outputs outputs = counters.check([] {});
  CAPTURE(outputs.texts.front().second);
  CHECK(outputs.code == 0);
  std::size_t count = 0;
  for (const auto& finding : findings_of(outputs.document, "copy", "nvidia:0")) {
    CHECK(finding["code"] == "HT-COUNTERS-UNREAD");
    CHECK(finding["severity"] == "unknown");
    ++count;
  }
  CHECK(count == 2);  // counters and the kernel's log, once
  for (const auto& output : outputs.texts) {
    CAPTURE(output.first);
    CHECK(contains(output.second, "HT-COUNTERS-UNREAD"));
  }
}
