// SPDX-License-Identifier: MIT
#include "hip/patient_sensors.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using hiptool::hip::open_patient_sensors;
using hiptool::hip::SensorLibrary;
using hiptool::hip::SensorReading;
using hiptool::hip::Sensors;

namespace {

constexpr std::chrono::seconds patience{2};
constexpr std::chrono::hours for_ever{1000};

/// Closed, it holds whoever passes.
class Gate {
 public:
  void close() { set(false); }
  void open() { set(true); }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }

 private:
  void set(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
};

/// A driver whose calls pass a gate. Threads that are left behind own a part of it.
struct DriverState {
  Gate gate;
  std::atomic<int> opened = 0;
  std::atomic<int> readings = 0;
  std::atomic<int> closed = 0;
  std::atomic<int> late_calls = 0;
};

/// Reads the length of the bus id.
class DriverSensors final : public Sensors {
 public:
  explicit DriverSensors(std::shared_ptr<DriverState> driver) : driver_(std::move(driver)) {}
  ~DriverSensors() override { ++driver_->closed; }
  DriverSensors(const DriverSensors&) = delete;
  DriverSensors& operator=(const DriverSensors&) = delete;

  const std::string& source() const noexcept override { return source_; }
  SensorReading read(std::string_view bus_id) override {
    ++driver_->readings;
    driver_->gate.pass();
    if (bus_id == "bad") throw std::runtime_error("a bad bus id");
    SensorReading reading;
    reading.clock_hz = static_cast<double>(bus_id.size());
    return reading;
  }
  SensorReading read_load(std::string_view bus_id) override {
    SensorReading reading = read(bus_id);
    reading.power_w = 75;
    return reading;
  }

 private:
  std::shared_ptr<DriverState> driver_;
  std::string source_ = "a driver";
};

/// Never destroyed, for threads that a failed test leaves behind count in it.
DriverState& new_driver(std::shared_ptr<DriverState>& driver) {
  static auto& all = *new std::vector<std::shared_ptr<DriverState>>;
  driver = all.emplace_back(std::make_shared<DriverState>());
  return *driver;
}

struct Driver {
  std::shared_ptr<DriverState> shared;
  DriverState& state = new_driver(shared);

  SensorLibrary open(std::chrono::milliseconds most,
                     const hiptool::CancelToken* cancel = nullptr) const {
    const auto work = [driver = shared] {
      ++driver->opened;
      driver->gate.pass();
      return SensorLibrary{std::make_unique<DriverSensors>(driver), {}};
    };
    return open_patient_sensors(work, most, state.late_calls, cancel);
  }
  void wait_until_no_call_is_late() const {
    while (state.late_calls > 0) std::this_thread::yield();
  }
};

}  // namespace

TEST_CASE("patient sensors: what a driver that answers says") {
  const Driver driver;
  {
    const SensorLibrary library = driver.open(for_ever);
    REQUIRE(library.sensors);
    CHECK(library.sensors->source() == "a driver");
    CHECK(library.sensors->read("four").clock_hz == 4);
    CHECK_FALSE(library.sensors->read("four").power_w);
    CHECK(library.sensors->read_load("seven .").clock_hz == 7);
    CHECK(library.sensors->read_load("four").power_w == 75);
    CHECK_THROWS_WITH_AS(library.sensors->read("bad"), "a bad bus id", std::runtime_error);
    CHECK(library.sensors->read("four").clock_hz == 4);
    CHECK_FALSE(library.sensors->read("four").has_timed_out);
  }
  CHECK(driver.state.closed == 1);  // before the destructor returned
}

TEST_CASE("patient sensors: the reason of a driver without any") {
  std::atomic<int> late_calls = 0;
  const SensorLibrary library = open_patient_sensors(
      [] {
        return SensorLibrary{nullptr, "no library"};
      },
      for_ever, late_calls);
  CHECK_FALSE(library.sensors);
  CHECK(library.reason == "no library");
  CHECK_FALSE(library.has_timed_out);
  CHECK(open_patient_sensors(hiptool::Platform::cpu).reason == "the cpu platform has no sensors");
}

TEST_CASE("patient sensors: a driver that hangs while it is opened is waited for once") {
  const Driver driver;
  driver.state.gate.close();
  const SensorLibrary first = driver.open(patience);
  CHECK_FALSE(first.sensors);
  CHECK(first.reason == "the sensors do not respond");
  CHECK(first.has_timed_out);
  while (driver.state.opened == 0) std::this_thread::yield();
  const SensorLibrary second = driver.open(for_ever);
  CHECK_FALSE(second.sensors);
  CHECK(second.reason == "the sensors do not respond");
  CHECK(second.has_timed_out);
  CHECK(driver.state.opened == 1);
  driver.state.gate.open();
  driver.wait_until_no_call_is_late();
  CHECK(driver.state.closed == 1);  // by the thread that was left behind
  const SensorLibrary third = driver.open(for_ever);
  REQUIRE(third.sensors);
  CHECK(third.sensors->read("four").clock_hz == 4);
}

TEST_CASE("patient sensors: a driver that hangs while it is read has no values until it responds") {
  const Driver driver;
  const SensorLibrary library = driver.open(patience);
  REQUIRE(library.sensors);
  driver.state.gate.close();
  const SensorReading late = library.sensors->read("four");
  CHECK(late.has_timed_out);
  CHECK_FALSE(late.clock_hz);
  CHECK(library.sensors->read_load("four").has_timed_out);
  CHECK(driver.state.late_calls == 1);
  driver.state.gate.open();
  driver.wait_until_no_call_is_late();
  const SensorReading next = library.sensors->read("seven .");
  CHECK_FALSE(next.has_timed_out);
  CHECK(next.clock_hz == 7);
}

TEST_CASE("patient sensors: a cancelled program does not wait for a driver that hangs") {
  const Driver driver;
  hiptool::CancelToken cancel;
  const auto cancel_after = [&cancel](const std::atomic<int>& calls) {
    return std::jthread([&cancel, &calls, before = calls.load()] {
      while (calls == before) std::this_thread::yield();
      cancel.cancel();
    });
  };
  SUBCASE("that is read") {
    const SensorLibrary library = driver.open(for_ever, &cancel);
    REQUIRE(library.sensors);
    driver.state.gate.close();
    const std::jthread canceller = cancel_after(driver.state.readings);
    CHECK(library.sensors->read("four").has_timed_out);
    CHECK(driver.state.late_calls == 1);
  }
  SUBCASE("that is opened") {
    driver.state.gate.close();
    const std::jthread canceller = cancel_after(driver.state.opened);
    const SensorLibrary library = driver.open(for_ever, &cancel);
    CHECK_FALSE(library.sensors);
    CHECK(library.has_timed_out);
  }
  driver.state.gate.open();
  driver.wait_until_no_call_is_late();
  CHECK(driver.state.closed == 1);
}

TEST_CASE(
    "patient sensors: their end does not wait for a driver that hangs, and counts its thread") {
  const Driver driver;
  {
    const SensorLibrary library = driver.open(patience);
    REQUIRE(library.sensors);
    driver.state.gate.close();
    CHECK(library.sensors->read("four").has_timed_out);
    CHECK(driver.state.late_calls == 1);
  }
  CHECK(driver.state.closed == 0);
  CHECK(driver.state.late_calls == 2);
  driver.state.gate.open();
  driver.wait_until_no_call_is_late();
  CHECK(driver.state.closed == 1);
}

TEST_CASE("patient sensors: threads that ask at once get their own answers") {
  const Driver driver;
  const SensorLibrary library = driver.open(for_ever);
  REQUIRE(library.sensors);
  constexpr int threads = 4;
  constexpr int readings = 200;
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> asking;
    for (int i = 1; i <= threads; ++i) {
      asking.emplace_back(
          [&library, &right, bus_id = std::string(static_cast<std::size_t>(i), 'x')] {
            for (int j = 0; j < readings; ++j) {
              if (library.sensors->read(bus_id).clock_hz == static_cast<double>(bus_id.size()))
                ++right;
            }
          });
    }
  }
  CHECK(right == threads * readings);
}
