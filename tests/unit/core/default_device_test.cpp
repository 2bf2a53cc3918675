// SPDX-License-Identifier: MIT
/// Which of several GPUs is used if none is named.
#include "core/default_device.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/platform_state.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

struct Gpu {
  double memory_gib = 0;
  bool is_integrated = false;
};
using Gpus = std::vector<Gpu>;

Gpus gpus_of[2];  // of amd and of nvidia

template <int which>
hip::hipError_t get_memory(std::size_t* bytes, hip::hipDevice_t device) {
  const Gpu& gpu = gpus_of[which].at(static_cast<std::size_t>(device));
  *bytes = static_cast<std::size_t>(gpu.memory_gib * 0x1p30);
  return hip::hipSuccess;
}

template <int which>
hip::hipError_t get_attribute(int* value, hip::hipDeviceAttribute_t number, int device) {
  if (number != hip::hipDeviceAttributeIntegrated) return hip::hipErrorInvalidValue;
  *value = gpus_of[which].at(static_cast<std::size_t>(device)).is_integrated ? 1 : 0;
  return hip::hipSuccess;
}

class TwoVendors final : public hip::Binder {
 public:
  TwoVendors() {
    apis_[0].hipDeviceTotalMem = get_memory<0>;
    apis_[0].hipDeviceGetAttribute = get_attribute<0>;
    apis_[1].hipDeviceTotalMem = get_memory<1>;
    apis_[1].hipDeviceGetAttribute = get_attribute<1>;
  }
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    if (platform == Platform::cpu) return hip::bind_cpu(request);
    const std::size_t which = platform == Platform::amd ? 0 : 1;
    hip::Binding binding;
    binding.status.platform = platform;
    binding.status.device_count = static_cast<int>(gpus_of[which].size());
    binding.status.usable = binding.status.device_count > 0;
    binding.status.reason = binding.status.usable ? "" : "its driver is missing";
    binding.api = &apis_[which];
    return binding;
  }

 private:
  hip::Api apis_[2] = {hip::make_unsupported_api(), hip::make_unsupported_api()};
};

/// "amd:0: reason".
std::string choose(const Gpus& amd, const Gpus& nvidia, const std::string& root = "/nowhere",
                   std::optional<Platform> only = {}) {
  gpus_of[0] = amd;
  gpus_of[1] = nvidia;
  Platforms::Options options;
  options.system_root = root;
  Platforms platforms = core::make_platforms(options, std::make_shared<TwoVendors>());
  const core::DefaultDevice chosen = core::choose_default(platforms, only);
  if (!only) CHECK(default_device(platforms) == chosen.device);
  return chosen.device.id() + ": " + chosen.reason;
}

constexpr Gpu ryzen{62, true};

}  // namespace

TEST_CASE("one GPU is no choice") {
  CHECK(choose({{16}}, {}) == "amd:0: ");
  CHECK(choose({}, {{16}}) == "nvidia:0: ");
  CHECK(choose({ryzen}, {}) == "amd:0: ");
}

TEST_CASE("a discrete GPU goes before an integrated one with more memory, in any order") {
  CHECK(choose({ryzen, {24}}, {}) == "amd:1: the only discrete GPU");
  CHECK(choose({{24}, ryzen}, {}) == "amd:0: the only discrete GPU");
  CHECK(choose({}, {ryzen, {24}}) == "nvidia:1: the only discrete GPU");
  CHECK(choose({}, {{24}, ryzen}) == "nvidia:0: the only discrete GPU");
  CHECK(choose({ryzen}, {{8}}) == "nvidia:0: the only discrete GPU");
  CHECK(choose({{8}}, {ryzen}) == "amd:0: the only discrete GPU");
}

TEST_CASE("the most memory over all platforms, at most 5 % less is equal") {
  CHECK(choose({{16}}, {{24}}) == "nvidia:0: the discrete GPU with the most memory");
  CHECK(choose({{24}}, {{16}}) == "amd:0: the discrete GPU with the most memory");
  CHECK(choose({{8}, {16}, ryzen}, {{12}}) == "amd:1: the discrete GPU with the most memory");
  CHECK(choose({}, {{79.2}, {80}}) == "nvidia:0: the first of 2 GPUs with equal memory");
  CHECK(choose({}, {{75}, {80}}) == "nvidia:1: the discrete GPU with the most memory");
  CHECK(choose({{8}, {24}}, {{24}}) == "nvidia:0: the discrete GPU with the most memory");
  CHECK(choose({{24}}, {{24}}) == "amd:0: the first of 2 GPUs with equal memory");
}

TEST_CASE("only integrated GPUs") {
  CHECK(choose({{4, true}, {62, true}}, {}) == "amd:1: the integrated GPU with the most memory");
}

TEST_CASE("a platform alone follows the same rule") {
  CHECK(choose({ryzen, {24}}, {{80}}, "/nowhere", Platform::amd) == "amd:1: the only discrete GPU");
  CHECK(choose({{8}}, {{16}, {80}}, "/nowhere", Platform::nvidia) ==
        "nvidia:1: the discrete GPU with the most memory");
  CHECK_THROWS_AS(choose({}, {{16}}, "/nowhere", Platform::amd), Error);
}

TEST_CASE("hardware of both vendors is compared, and one that cannot be used is no hindrance") {
  const test::TemporaryFolder root;
  const auto add = [&](const std::string& slot, const std::string& vendor) {
    const auto folder = root.path() / "sys/bus/pci/devices" / slot;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor;
    std::ofstream(folder / "device") << "0x1000";
    std::ofstream(folder / "class") << "0x030000";
  };
  add("0000:01:00.0", "0x10de");
  add("0000:0b:00.0", "0x1002");
  const std::string path = root.path().string();
  CHECK(choose({ryzen}, {{24}}, path) == "nvidia:0: the only discrete GPU");
  CHECK(choose({{48}}, {{24}}, path) == "amd:0: the discrete GPU with the most memory");
  CHECK(choose({}, {{24}}, path) == "nvidia:0: ");
  CHECK(choose({ryzen}, {}, path) == "amd:0: ");
  CHECK_THROWS_AS(choose({}, {}, path), Error);
}
