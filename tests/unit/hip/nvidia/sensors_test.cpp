// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "hip/sensors.hpp"
#include "temporary_tree.hpp"

using hiptool::hip::SensorLibrary;
using hiptool::hip::SensorReading;
using hiptool::hip::nvidia::open_sensors;
using hiptool::test::fake_library;
using Words = std::vector<std::string>;

namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

SensorLibrary open_fake() { return open_sensors(fake_library("FAKE_NVML")); }

}  // namespace

TEST_CASE("nvml: the temperature of the memory and its limit, where it has both") {
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  CHECK_FALSE(library.sensors->read_load("0000:65:00.0").memory_temperature_c.has_value());
  const Variable hot("FAKE_NVML_MEMORY_C", "83");
  const SensorReading reading = library.sensors->read_load("0000:65:00.0");
  CHECK(reading.memory_temperature_c == 83);
  CHECK(reading.memory_temperature_limit_c == 95);
}

TEST_CASE("nvml: everything it says, in base units") {
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  CHECK(library.reason.empty());
  CHECK(library.sensors->source().find(", driver 580.159.04") != std::string::npos);
  const SensorReading reading = library.sensors->read("0000:65:00.0");
  CHECK(reading.clock_hz == 1980e6);
  CHECK(reading.memory_clock_hz == 3201e6);
  CHECK(reading.temperature_c == 41);
  CHECK(reading.power_w == 75.5);
  CHECK(reading.power_limit_w == 600);
  CHECK(reading.default_power_limit_w == 700);
  CHECK(reading.throttle_reasons == Words{});
  CHECK(reading.corrected_errors == 12);
  CHECK(reading.uncorrected_errors == 0);
  CHECK(reading.repair_pending == true);
  CHECK(reading.repair_failed == false);
  CHECK(reading.repairs == 0);
  CHECK(reading.link_errors == 0);
  CHECK(reading.link_corrected_errors == 0);
  CHECK(reading.pcie_generation == 5);
  CHECK(reading.pcie_width == 16);
  CHECK(reading.pcie_replays == 7);
  CHECK(reading.host_visible_bytes == 256ULL << 30);
  CHECK(reading.persistence_enabled == true);
  CHECK(reading.partitioned == false);
  CHECK(reading.links_up == 3);
  CHECK(reading.link_remotes == std::vector<std::string>{"0000:a0:00.0", "0000:a1:00.0"});
  CHECK(reading.memory_used_bytes == 2ULL << 30);
  CHECK(reading.busy_share == 0.37);
  REQUIRE(reading.processes);
  const auto& first = reading.processes->front();
  CHECK(first.id == static_cast<std::uint64_t>(getppid()));
  std::ifstream file("/proc/" + std::to_string(getppid()) + "/comm");
  std::string name;
  std::getline(file, name);
  CHECK_FALSE(name.empty());
  CHECK(first.name == name);
  CHECK(first.memory_bytes == 1ULL << 30);
  REQUIRE(reading.processes->size() > 1);
  CHECK(reading.processes->at(1).name.empty());
  CHECK_FALSE(reading.processes->at(1).memory_bytes);
}

TEST_CASE("nvml: why clocks are held down; idle and clocks of the user's choice are no reason") {
  const Variable reasons("FAKE_NVML_REASONS", "0x47");
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  CHECK(library.sensors->read("0000:65:00.0").throttle_reasons ==
        Words{"power cap", "thermal slowdown by hardware"});
}

TEST_CASE("nvml: heat and power brakes are the hardware's reasons, limits of software are not") {
  for (const char* reason : {"hardware slowdown", "thermal slowdown by hardware", "power brake"}) {
    CHECK(hiptool::hip::is_hardware_slowdown(reason));
  }
  for (const char* reason : {"power cap", "thermal slowdown by software", "sync boost", ""}) {
    CHECK_FALSE(hiptool::hip::is_hardware_slowdown(reason));
  }
}

TEST_CASE("nvml: what a device does not have is absent, never zero") {
  const Variable bare("FAKE_NVML_BARE", "1");
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  const SensorReading reading = library.sensors->read("0000:65:00.0");
  CHECK_FALSE(reading.clock_hz);
  CHECK_FALSE(reading.power_w);
  CHECK_FALSE(reading.throttle_reasons);
  CHECK_FALSE(reading.uncorrected_errors);
  CHECK_FALSE(reading.repair_pending);
  CHECK_FALSE(reading.host_visible_bytes);
  CHECK_FALSE(reading.partitioned);
  CHECK_FALSE(reading.links_up);
  CHECK_FALSE(reading.memory_used_bytes);
  CHECK_FALSE(reading.busy_share);
  CHECK_FALSE(reading.processes);
}

TEST_CASE("nvml: older drivers count what they reserve as used") {
  const Variable old("FAKE_NVML_OLD", "1");
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  CHECK(library.sensors->read("0000:65:00.0").memory_used_bytes == 3ULL << 30);
}

TEST_CASE("nvml: memory of the whole board is not that of a MIG instance") {
  const Variable mig("FAKE_NVML_MIG", "1");
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  const SensorReading reading = library.sensors->read("0000:65:00.0");
  CHECK(reading.partitioned == true);
  CHECK_FALSE(reading.memory_used_bytes);
  CHECK(reading.temperature_c == 41);
}

TEST_CASE("nvml: a device that it does not know says nothing") {
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  CHECK_FALSE(library.sensors->read("0000:66:00.0").clock_hz);
  CHECK_FALSE(library.sensors->read("").clock_hz);
}

TEST_CASE("nvml: without it there is a reason") {
  CHECK(open_sensors("libhiptool-no-nvml.so.1").reason.find("libhiptool-no-nvml.so.1") !=
        std::string::npos);
  const SensorLibrary wrong = open_sensors(fake_library("FAKE_CUDA"));
  CHECK_FALSE(wrong.sensors);
  CHECK(wrong.reason.find("lacks nvmlInit_v2") != std::string::npos);
  const Variable init("FAKE_NVML_INIT", "9");
  CHECK(open_fake().reason == "NVML does not start: Driver Not Loaded");
  const Variable unknown("FAKE_NVML_INIT", "77");
  CHECK(open_fake().reason == "NVML does not start: 77");
}

TEST_CASE("nvml: counters of errors, those of NVLink by call or by number") {
  hiptool::test::TemporaryTree tree;
  tree.write("counters",
             "0000:65:00.0 corrected 5\n0000:65:00.0 uncorrected 2\n0000:65:00.0 remapped 1\n"
             "0000:65:00.0 replays 9\n0000:65:00.0 nvlink 3\n0000:65:00.0 crc 4\n");
  const Variable counters("FAKE_NVML_COUNTERS", (tree.root() / "counters").c_str());
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  const auto check_reading = [&library] {
    const SensorReading reading = library.sensors->read("0000:65:00.0");
    CHECK(reading.corrected_errors == 17);
    CHECK(reading.uncorrected_errors == 2);
    CHECK(reading.repairs == 1);
    CHECK(reading.pcie_replays == 16);
    CHECK(reading.link_errors == 3);
    CHECK(reading.link_corrected_errors == 4);
  };
  check_reading();
  const Variable newer("FAKE_NVML_NVLINK5", "1");
  check_reading();
}

TEST_CASE("nvml: what changes with the load is read alone") {
  const SensorLibrary library = open_fake();
  REQUIRE(library.sensors);
  const SensorReading reading = library.sensors->read_load("0000:65:00.0");
  CHECK(reading.clock_hz == 1980e6);
  CHECK(reading.temperature_c == 41);
  CHECK(reading.power_w == 75.5);
  CHECK(reading.throttle_reasons == Words{});
  CHECK_FALSE(reading.corrected_errors);
  CHECK_FALSE(library.sensors->read_load("0000:66:00.0").clock_hz);
}
