// SPDX-License-Identifier: MIT
#include "hiptool/device.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/platform_state.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "wrapped_device.hpp"

using namespace hiptool;

namespace {

Platforms::Options with_cpu_devices(int count) {
  Platforms::Options options;
  options.cpu_devices = count;
  return options;
}

// Only cpu answers; the vendors are "not there" without looking at this machine.
class CpuOnly final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    if (platform == Platform::cpu) return hip::bind_cpu(request);
    hip::Binding binding;
    binding.status.platform = platform;
    binding.status.reason = "libnothing.so was not found";
    binding.status.hint = hint;
    return binding;
  }

  std::string hint = "install it";
};

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text << '\n';
}

// A synthetic /sys with one NVIDIA display controller.
void add_gpu(const std::filesystem::path& root) {
  const auto folder = root / "sys/bus/pci/devices/0000:65:00.0";
  write_file(folder / "vendor", "0x10de");
  write_file(folder / "device", "0x2335");
  write_file(folder / "class", "0x030200");
}

}  // namespace

TEST_CASE("devices are values with an id") {
  Platforms platforms(with_cpu_devices(3));
  const auto devices = platforms.devices(Platform::cpu);
  REQUIRE(devices.size() == 3);
  CHECK(devices[2].id() == "cpu:2");
  CHECK(devices[0] == platforms.devices(Platform::cpu)[0]);
  CHECK_FALSE(devices[0] == devices[1]);
}

TEST_CASE("a device outlives its Platforms") {
  std::optional<Device> device;
  {
    Platforms platforms(with_cpu_devices(1));
    device = platforms.devices(Platform::cpu).front();
  }
  CHECK(device->memory().total_bytes > 0);
  CHECK_FALSE(device->info().arch.empty());
}

TEST_CASE("info has the known attributes and omits the unknown ones") {
  Platforms platforms(with_cpu_devices(1));
  const DeviceInfo info = platforms.devices(Platform::cpu).front().info();
  CHECK_FALSE(info.name.empty());
  CHECK(info.memory_total_bytes.value_or(0) > 0);
  CHECK(info.compute_units.value_or(0) >= 1);
  CHECK_FALSE(info.uuid.has_value());
  CHECK_FALSE(info.pci_bus_id.has_value());
}

TEST_CASE("a device is asked once what it is, and again where it gave no name") {
  test::WrappedDevice wrapped;
  wrapped.table().fail("hipGetDevicePropertiesR0600", hip::hipErrorInvalidValue, 1, 2);
  CHECK(wrapped.device().info().arch.empty());
  const DeviceInfo info = wrapped.device().info();
  CHECK_FALSE(info.arch.empty());
  const std::uint64_t asked = wrapped.table().total_count();
  CHECK(asked > 0);
  const DeviceInfo again = find_device(wrapped.platforms(), wrapped.device().id()).info();
  CHECK(again.arch == info.arch);
  CHECK(again.memory_total_bytes == info.memory_total_bytes);
  CHECK(wrapped.table().total_count() == asked);
}

TEST_CASE("find_device takes ids and explains why others are invalid") {
  Platforms platforms = core::make_platforms(with_cpu_devices(2), std::make_shared<CpuOnly>());
  CHECK(find_device(platforms, "cpu").id() == "cpu:0");
  CHECK(find_device(platforms, "cpu:1").id() == "cpu:1");
  const auto code_of = [&](const char* id) {
    try {
      static_cast<void>(find_device(platforms, id));
    } catch (const Error& error) {
      CAPTURE(id);
      CHECK(std::string(error.what()).find(id) != std::string::npos);
      return error.code();
    }
    return ErrorCode::internal;
  };
  CHECK(code_of("cpu:2") == ErrorCode::unavailable);
  CHECK(code_of("cpu:999") == ErrorCode::unavailable);
  CHECK(code_of("nvidia:0") == ErrorCode::unavailable);
  CHECK(code_of("GPU-00000000-0000-0000-0000-000000000000") == ErrorCode::unavailable);
  CHECK(code_of("0000:65:00.0") == ErrorCode::unavailable);
  for (const char* id : {"cpu:", "cpu:-1", "cpu:x", "cpu:1x", "gpu", "cuda:0", ""}) {
    CHECK(code_of(id) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a platform that is not usable gives its reason and hint") {
  for (const std::string hint : {"install it", ""}) {
    const auto binder = std::make_shared<CpuOnly>();
    binder->hint = hint;
    Platforms platforms = core::make_platforms(with_cpu_devices(1), binder);
    try {
      static_cast<void>(find_device(platforms, "amd:0"));
      FAIL("found a device");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("libnothing.so was not found") != std::string::npos);
      CHECK(error.hint() == (hint.empty() ? "run `hiptool devices` to see the usable ones" : hint));
    }
  }
}

TEST_CASE("the default is cpu only where no GPU hardware is seen") {
  const test::TemporaryFolder root;
  Platforms::Options options = with_cpu_devices(1);
  options.system_root = root.path().string();
  {
    Platforms platforms = core::make_platforms(options, std::make_shared<CpuOnly>());
    CHECK(default_device(platforms).id() == "cpu:0");
  }
  add_gpu(root.path());
  Platforms platforms = core::make_platforms(options, std::make_shared<CpuOnly>());
  try {
    static_cast<void>(default_device(platforms));
    FAIL("fell back to cpu although a GPU is there");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unavailable);
    CHECK(std::string(error.what()).find("0000:65:00.0") != std::string::npos);
  }
}

TEST_CASE("DeviceGuard sets only when different and restores after exceptions, on every thread") {
  Platforms platforms(with_cpu_devices(2));
  const auto devices = platforms.devices(Platform::cpu);
  const hip::Api& api = core::api_of(devices[0]);
  std::vector<std::jthread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto current = [&] {
        int ordinal = -1;
        api.hipGetDevice(&ordinal);
        return ordinal;
      };
      for (int round = 0; round < 200; ++round) {
        if (current() != 0) ++failures;
        try {
          const DeviceGuard outer(devices[1]);
          if (current() != 1) ++failures;
          const DeviceGuard inner(devices[0]);
          if (current() != 0) ++failures;
          throw std::runtime_error("passes both guards");
        } catch (const std::runtime_error&) {
        }
      }
      if (current() != 0) ++failures;
    });
  }
  threads.clear();
  CHECK(failures.load() == 0);
}

TEST_CASE("DeviceGuard puts the device back after the Device it was made of is gone") {
  Platforms platforms(with_cpu_devices(2));
  const Device first = platforms.devices(Platform::cpu)[0];
  const hip::Api& api = core::api_of(first);
  const auto current = [&] {
    int ordinal = -1;
    REQUIRE(api.hipGetDevice(&ordinal) == hip::hipSuccess);
    return ordinal;
  };
  {
    auto device = std::make_unique<Device>(platforms.devices(Platform::cpu)[1]);
    const DeviceGuard guard(*device);
    device.reset();
    CHECK(current() == 1);
  }
  CHECK(current() == 0);
  {
    const DeviceGuard guard(platforms.devices(Platform::cpu)[1]);
    CHECK(current() == 1);
  }
  CHECK(current() == 0);
}

TEST_CASE("an invalid number of cpu devices is refused by name") {
  for (const char* text : {"0", "-1", "65", "x", "1x"}) {
    CAPTURE(text);
    setenv("HIPTOOL_CPU_DEVICES", text, 1);
    CHECK_THROWS_WITH_AS(Platforms::Options::from_environment(),
                         doctest::Contains("HIPTOOL_CPU_DEVICES"), Error);
  }
  setenv("HIPTOOL_CPU_DEVICES", "4", 1);
  CHECK(Platforms::Options::from_environment().cpu_devices == 4);
  unsetenv("HIPTOOL_CPU_DEVICES");
}
