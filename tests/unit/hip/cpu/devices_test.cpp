// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "hip/binding.hpp"
#include "hip/cpu/facts.hpp"
#include "tool.hpp"

namespace hiptool::hip::cpu::test {
namespace {

/// A system root of its own for a test, gone afterwards.
class FakeRoot {
 public:
  FakeRoot()
      : path_(std::filesystem::temp_directory_path() /
              ("hiptool-cpu-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    bind_cpu(BindRequest{});  // the facts of the real machine again
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }

  const Api& bind() const {
    BindRequest request;
    request.system_root = path_.string();
    const Binding binding = bind_cpu(request);
    REQUIRE(binding.api != nullptr);
    return *binding.api;
  }

 private:
  std::filesystem::path path_;
};

std::string name_of(const Api& api) {
  std::array<char, 256> name{};
  REQUIRE(api.hipDeviceGetName(name.data(), 256, 0) == hipSuccess);
  return name.data();
}

TEST_CASE("devices: facts come from below the system root") {
  const FakeRoot root;
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU 9000\n");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3400000\n");
  root.write("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
  root.write("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
  root.write("sys/devices/system/cpu/cpu0/cache/index1/level", "2\n");
  root.write("sys/devices/system/cpu/cpu0/cache/index1/size", "2048K\n");
  const Api& api = root.bind();
  CHECK(name_of(api) == "Some CPU 9000");
  int value = 0;
  CHECK(api.hipDeviceGetAttribute(&value, hipDeviceAttributeClockRate, 0) == hipSuccess);
  CHECK(value == 3400000);
  CHECK(api.hipDeviceGetAttribute(&value, hipDeviceAttributeL2CacheSize, 0) == hipSuccess);
  CHECK(value == 2048 * 1024);
}

TEST_CASE("devices: what a system does not tell is unknown, not zero") {
  const FakeRoot root;
  root.write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "fast\n");
  const Api& api = root.bind();
  CHECK(name_of(api) == "CPU");
  for (const auto attribute :
       {hipDeviceAttributeClockRate, hipDeviceAttributeL2CacheSize, hipDeviceAttributeEccEnabled,
        hipDeviceAttributeMemoryClockRate, hipDeviceAttributePciBusId}) {
    CAPTURE(attribute);
    int value = -7;
    CHECK(api.hipDeviceGetAttribute(&value, attribute, 0) == hipErrorInvalidValue);
    CHECK(value == -7);
  }
  std::size_t bytes = 0;
  CHECK(api.hipDeviceTotalMem(&bytes, 0) == hipSuccess);
  CHECK(bytes > 0);
}

TEST_CASE("devices: names are cut to the caller's room") {
  const FakeRoot root;
  root.write("proc/cpuinfo", "model name\t: 0123456789\n");
  const Api& api = root.bind();
  std::array<char, 8> name{'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'};
  CHECK(api.hipDeviceGetName(name.data(), 5, 0) == hipSuccess);
  CHECK(std::string(name.data()) == "0123");
  CHECK(name[5] == 'x');
  CHECK(api.hipDeviceGetName(name.data(), 0, 0) == hipErrorInvalidValue);
}

TEST_CASE("devices: the warp is 32 wide, the device is integrated") {
  const Api& api = bound();
  int value = 0;
  CHECK(api.hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0) == hipSuccess);
  CHECK(value == 32);
  CHECK(api.hipDeviceGetAttribute(&value, hipDeviceAttributeIntegrated, 0) == hipSuccess);
  CHECK(value == 1);
  CHECK(api.hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0) == hipSuccess);
  CHECK(value == current_facts()->cores);
}

TEST_CASE("devices: any two different ones are peers") {
  const Api& api = bound(3);
  int access = -1;
  CHECK(api.hipDeviceCanAccessPeer(&access, 0, 2) == hipSuccess);
  CHECK(access == 1);
  CHECK(api.hipDeviceCanAccessPeer(&access, 1, 1) == hipSuccess);
  CHECK(access == 0);
  CHECK(api.hipDeviceEnablePeerAccess(0, 0) == hipErrorInvalidDevice);  // itself
  CHECK(api.hipDeviceEnablePeerAccess(2, 1) == hipErrorInvalidValue);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
