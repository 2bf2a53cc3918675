// SPDX-License-Identifier: MIT
// A soak of fake devices whose clocks are their own, so that ten minutes take no time: a GPU that
// slows, one that is behind, one element that is wrong once, an interrupt; and pulses.
#include "accept/soak.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/statistics.hpp"
#include "hiptool/error.hpp"
#include "machine/codes.hpp"

using namespace hiptool;
using namespace hiptool::accept;

namespace {

/// What a fake does in a round that begins at a time since the start.
struct Behaviour {
  std::string name = "products";
  bool has_pulses = true;
  std::function<double(double at_s)> per_s = [](double) { return 500e12; };
  std::function<void(double at_s, SoakRound& round)> change = {};
};

class FakeLoad final : public SoakLoad {
 public:
  explicit FakeLoad(Behaviour behaviour, std::vector<double>* begun = nullptr)
      : behaviour_(std::move(behaviour)), begun_(begun) {}
  std::string name() const override { return behaviour_.name; }
  std::string label() const override { return "soak." + behaviour_.name; }
  bool counts_operations() const override { return true; }
  bool has_pulses() const override { return behaviour_.has_pulses; }
  double round_s() const override { return 0.05; }
  void begin(TimePoint start) override { start_ = now_ = start; }
  TimePoint now() const override { return now_; }
  void sleep_until(TimePoint until) override { now_ = until; }
  SoakRound run(double time_s) override {
    const double at_s = std::chrono::duration<double>(now_ - start_).count();
    if (begun_ != nullptr) begun_->push_back(at_s);
    const double lasted_s = std::max(time_s, 1e-4);
    SoakRound round{1, behaviour_.per_s(at_s) * lasted_s, lasted_s, 1000, 0, {}, {}};
    if (behaviour_.change) behaviour_.change(at_s, round);
    now_ +=
        std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(lasted_s));
    return round;
  }

 private:
  Behaviour behaviour_;
  std::vector<double>* begun_;
  TimePoint start_;
  TimePoint now_;
};

struct Soaked {
  std::vector<SoakedLoad> loads;
  std::vector<RateFault> faults;
  ExpectationResults expectations;
  std::vector<std::string> wrong;  ///< ids of loads, when they were told
};

Soaked soak_all(const std::vector<Behaviour>& devices, double duration_s,
                const CancelToken& cancel = {}, const std::string& platform = "nvidia",
                const Expectations* expectations = nullptr) {
  Soak soak({plan_soak(duration_s, true), devices.size(), 30, &cancel});
  RateRules rules;
  rules.expectations = expectations;
  std::vector<std::thread> threads;
  std::mutex mutex;
  Soaked soaked;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string id = platform + ":" + std::to_string(i);
    rules.devices[id].name = "Fake GPU";
    threads.emplace_back([&, id, i] {
      Soak::Place place(soak);
      std::vector<std::unique_ptr<SoakLoad>> loads;
      loads.push_back(std::make_unique<FakeLoad>(devices[i]));
      Heartbeat heart;
      place.run(id, loads, heart, [&](const SoakedLoad& load) {
        const std::lock_guard lock(mutex);
        soaked.wrong.push_back(load.device);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  soaked.loads = soak.results();
  soaked.faults = judge_soak(soaked.loads, rules, soaked.expectations);
  return soaked;
}

std::vector<std::string> found(const Soaked& soaked) {
  std::vector<std::string> texts;
  for (const RateFault& one : soaked.faults) texts.push_back(one.device + " " + one.fault.code);
  return texts;
}

/// From -1 to 1, another number for each second and the same in every run.
double noise_of(double at_s) {
  const double number = std::sin((std::floor(at_s) + 1) * 12.9898) * 43758.5453;
  return 2 * (number - std::floor(number)) - 1;
}

/// 500 TFLOP/s and 1 % of noise.
double noisy(double at_s) { return 500e12 * (1 + 0.01 * noise_of(at_s)); }

const SoakedLoad& load_of(const Soaked& soaked, std::string_view device) {
  return *std::find_if(soaked.loads.begin(), soaked.loads.end(),
                       [&](const SoakedLoad& one) { return one.device == device; });
}

}  // namespace

TEST_CASE("eight good GPUs have a rate for each second of ten minutes, and no fault") {
  const Soaked soaked = soak_all(std::vector<Behaviour>(8, {"products", true, noisy, {}}), 600);
  REQUIRE(soaked.loads.size() == 8);
  CHECK(found(soaked).empty());
  for (const SoakedLoad& load : soaked.loads) {
    CHECK(load.points.size() == 480);  // the rest are pulses
    CHECK(load.interval_s == 1);
    CHECK(load.ran_s >= 600);
    CHECK(load.pulses == 60 + 600);
    const report::Measurement measured = measurement_of(load);
    CHECK(std::abs(*measured.flops_per_s / 500e12 - 1) < 0.01);
    CHECK(measured.status == report::Status::ok);
  }
}

TEST_CASE("a GPU that slows after a minute has a code of its own, and the time") {
  std::vector<Behaviour> devices(2, {"products", true, noisy, {}});
  devices[1].per_s = [](double at_s) { return noisy(at_s) * (at_s < 60 ? 1 : 0.8); };
  // The first third ends after 48 s of two minutes and a half.
  const Soaked soaked = soak_all(devices, 180);
  REQUIRE(found(soaked) == std::vector<std::string>{"nvidia:1 HT-SOAK-SLOWS"});
  const std::string& reason = soaked.faults.front().fault.reason;
  CHECK(reason.find("slows after 60") == 0);
  CHECK(reason.find("in the first third of the time") != std::string::npos);
}

TEST_CASE("a GPU that slows by less than the spread, or for a moment, is good") {
  std::vector<Behaviour> devices(2, {"products", true, noisy, {}});
  devices[0].per_s = [](double at_s) { return noisy(at_s) * (at_s < 60 ? 1 : 0.93); };
  devices[1].per_s = [](double at_s) { return noisy(at_s) * (at_s > 130 && at_s < 140 ? 0.5 : 1); };
  CHECK(found(soak_all(devices, 180)).empty());
}

TEST_CASE("noise as large as the change is no slowing") {
  std::vector<Behaviour> devices(1);
  devices[0].per_s = [](double at_s) {
    return 500e12 * (1 + 0.4 * noise_of(at_s)) * (at_s < 90 ? 1 : 0.88);
  };
  CHECK(found(soak_all(devices, 180)).empty());
}

TEST_CASE(
    "one of eight that is 12 % slow is behind its siblings; 8 % are none, nor is one of two") {
  const auto with_slow = [](std::size_t count, double factor) {
    std::vector<Behaviour> devices(count, {"products", true, noisy, {}});
    devices[1].per_s = [factor](double at_s) { return noisy(at_s) * factor; };
    return found(soak_all(devices, 60));
  };
  CHECK(with_slow(8, 0.88) == std::vector<std::string>{"nvidia:1 HT-SIBLING-RATE"});
  CHECK(with_slow(8, 0.92).empty());
  CHECK(with_slow(3, 0.88) == std::vector<std::string>{"nvidia:1 HT-SIBLING-RATE"});
  CHECK(with_slow(2, 0.5).empty());
}

TEST_CASE("two of eight that are slow are both found, and copies and processors are not judged") {
  std::vector<Behaviour> devices(8, {"products", true, noisy, {}});
  devices[2].per_s = [](double at_s) { return noisy(at_s) * 0.85; };
  devices[5].per_s = [](double at_s) { return noisy(at_s) * 0.7; };
  CHECK(found(soak_all(devices, 60)) ==
        std::vector<std::string>{"nvidia:5 HT-SIBLING-RATE", "nvidia:2 HT-SIBLING-RATE"});
  CHECK(found(soak_all(devices, 60, {}, "cpu")).empty());
  for (Behaviour& one : devices) one.name = "copies";
  CHECK(found(soak_all(devices, 60)).empty());
}

TEST_CASE("a rate of a file is a limit for two GPUs too") {
  Expectations expectations;
  expectations.path = "gpus.json";
  expectations.of_kind["Fake GPU"]["soak.products"].flops_per_s = 400e12;
  std::vector<Behaviour> devices(2, {"products", true, noisy, {}});
  devices[1].per_s = [](double at_s) { return noisy(at_s) * 0.7; };
  const Soaked soaked = soak_all(devices, 60, {}, "nvidia", &expectations);
  REQUIRE(found(soaked) == std::vector<std::string>{"nvidia:1 HT-KERNEL-RATE"});
  CHECK(soaked.faults.front().fault.reason ==
        "350 TFLOP/s, at least 400 TFLOP/s expected by gpus.json");
  CHECK(soaked.expectations.judged == 2);
  Expectation& expectation = expectations.of_kind["Fake GPU"]["soak.products"];
  expectation = {};
  expectation.bytes_per_s = 1e18;  // products have none
  const Soaked other = soak_all(devices, 60, {}, "nvidia", &expectations);
  CHECK(other.faults.empty());
  CHECK(other.expectations.judged == 0);
}

TEST_CASE("one wrong element in one round of one GPU is told once, with its time") {
  std::vector<Behaviour> devices(2);
  bool was_wrong = false;
  devices[1].change = [&](double at_s, SoakRound& round) {
    if (was_wrong || at_s < 12) return;
    was_wrong = true;
    round.wrong = report::WrongData{1000, 1.0, 2.0, 0x10, 1, true, 0};
  };
  const Soaked soaked = soak_all(devices, 60);
  CHECK(soaked.wrong == std::vector<std::string>{"nvidia:1"});
  const SoakedLoad& load = load_of(soaked, "nvidia:1");
  CHECK(load.wrong_rounds == 1);
  CHECK(load.ran_s >= 60);  // it went on
  CHECK(wrong_text(load) ==
        "1 value wrong, the first at 1000, bits 0x10, after 12.0 s of products");
  CHECK(measurement_of(load).status == report::Status::mismatch);
  CHECK(measurement_of(load_of(soaked, "nvidia:0")).status == report::Status::ok);
}

TEST_CASE("an interrupt ends it and keeps what was measured") {
  CancelToken cancel;
  std::vector<Behaviour> devices(2);
  devices[0].change = [&](double at_s, SoakRound&) {
    if (at_s > 20) cancel.cancel();
  };
  const Soaked soaked = soak_all(devices, 86400, cancel);
  REQUIRE(soaked.loads.size() == 2);
  const SoakedLoad& load = load_of(soaked, "nvidia:0");
  CHECK(load.was_interrupted);
  CHECK(load.ran_s < 22);
  CHECK(load.points.size() == 20);
  CHECK(measurement_of(load).flops_per_s.has_value());
}

TEST_CASE("a load that fails ends the others of its device, and no other device") {
  CancelToken cancel;
  Soak soak({plan_soak(60, false), 2, 30, &cancel});
  std::atomic<bool> has_thrown{false};
  std::thread bad([&] {
    Soak::Place place(soak);
    std::vector<std::unique_ptr<SoakLoad>> loads;
    Behaviour behaviour;
    behaviour.change = [](double at_s, SoakRound&) {
      if (at_s > 5) throw Error(ErrorCode::device, "launch", "illegal address");
    };
    loads.push_back(std::make_unique<FakeLoad>(behaviour));
    loads.push_back(std::make_unique<FakeLoad>(Behaviour{}));
    Heartbeat heart;
    try {
      place.run("nvidia:0", loads, heart, {});
    } catch (const Error& error) {
      has_thrown = error.code() == ErrorCode::device;
    }
  });
  Soak::Place place(soak);
  std::vector<std::unique_ptr<SoakLoad>> loads;
  loads.push_back(std::make_unique<FakeLoad>(Behaviour{}));
  Heartbeat heart;
  const std::vector<SoakedLoad> good = place.run("nvidia:1", loads, heart, {});
  bad.join();
  CHECK(has_thrown.load());
  REQUIRE(good.size() == 1);
  CHECK(good.front().ran_s >= 60);
}

TEST_CASE("of several loads that fail the worst error is the device's") {
  // Wrong data before a failed call, a failed host and missing memory: "5, 6, 7, 4, 3, 2, 1".
  const std::vector<std::vector<ErrorCode>> failures{
      {ErrorCode::unsupported, ErrorCode::device_lost},
      {ErrorCode::device_lost, ErrorCode::unsupported},
      {ErrorCode::out_of_memory, ErrorCode::host_out_of_memory, ErrorCode::device},
      {ErrorCode::device, ErrorCode::data_mismatch}};
  const std::vector<ErrorCode> worst{ErrorCode::device_lost, ErrorCode::device_lost,
                                     ErrorCode::device, ErrorCode::data_mismatch};
  for (std::size_t i = 0; i < failures.size(); ++i) {
    CAPTURE(i);
    CancelToken cancel;
    Soak soak({plan_soak(60, false), 1, 30, &cancel});
    std::latch all_fail(static_cast<std::ptrdiff_t>(failures[i].size()));
    std::vector<std::unique_ptr<SoakLoad>> loads;
    for (const ErrorCode code : failures[i]) {
      Behaviour behaviour;
      behaviour.change = [&all_fail, code](double, SoakRound&) {
        all_fail.arrive_and_wait();
        throw Error(code, "launch", "fails");
      };
      loads.push_back(std::make_unique<FakeLoad>(behaviour));
    }
    Heartbeat heart;
    std::optional<ErrorCode> thrown;
    try {
      Soak::Place(soak).run("nvidia:0", loads, heart, {});
    } catch (const Error& error) {
      thrown = error.code();
    }
    CHECK(thrown == worst[i]);
  }
}

TEST_CASE("a device that never gets ready does not keep the others, nor one that gives up") {
  CancelToken cancel;
  for (const double patience_s : {30.0, 0.01}) {
    Soak soak({plan_soak(1, false), 2, patience_s, &cancel});
    // With much patience the other one leaves; with little it never comes.
    if (patience_s > 1) Soak::Place gives_up(soak);
    Soak::Place place(soak);
    std::vector<std::unique_ptr<SoakLoad>> loads;
    loads.push_back(std::make_unique<FakeLoad>(Behaviour{}));
    Heartbeat heart;
    CHECK(place.run("nvidia:0", loads, heart, {}).size() == 1);
  }
}

TEST_CASE("pulses are on and off at the same times on all devices") {
  const SoakPlan plan = plan_soak(100, true);
  REQUIRE(plan.pulses.size() == 2);
  CHECK(plan.steady_s == doctest::Approx(80));
  CHECK(plan.on_from(79.9) == 79.9);
  CHECK(plan.on_from(80.2) == doctest::Approx(80.2));
  CHECK(plan.on_from(80.6) == doctest::Approx(81));
  CHECK(plan.on_until(80.2) == doctest::Approx(80.5));
  CHECK(plan.on_from(90.07) == doctest::Approx(90.1));
  CHECK(plan.on_from(99.99) == doctest::Approx(100));
  CHECK(plan.pulses_until(100) == 10 + 100);
  CHECK(plan.pulses_until(82.1) == 3);

  CancelToken cancel;
  Soak soak({plan, 1, 30, &cancel});
  std::vector<double> begun;
  std::vector<std::unique_ptr<SoakLoad>> loads;
  loads.push_back(std::make_unique<FakeLoad>(Behaviour{}, &begun));
  Heartbeat heart;
  Soak::Place place(soak);
  const SoakedLoad load = place.run("nvidia:0", loads, heart, {}).front();
  CHECK(load.latest_pulse_s < 1e-6);
  const auto off = std::count_if(begun.begin(), begun.end(), [](double at_s) {
    const double phase = at_s < 90 ? at_s - 80 : (at_s - 90) * 10;
    const double share = phase - std::floor(phase);
    return at_s >= 80 && share > 0.501 && share < 0.999;
  });
  CHECK(off == 0);
  CHECK(std::any_of(begun.begin(), begun.end(), [](double at_s) { return at_s > 99; }));
}

TEST_CASE("short soaks have pulses too, and thirty rates at least") {
  const SoakPlan plan = plan_soak(2, true);
  CHECK(plan.steady_s == doctest::Approx(1.3));
  CHECK(plan.interval_s == doctest::Approx(1.3 / 30));
  CHECK(plan.pulses_until(2) == 3);
  CHECK(plan_soak(2, false).pulses.empty());
}

TEST_CASE("work over several seconds counts in each for its part") {
  const SoakPlan plan = plan_soak(100, false);
  RateMeter meter(plan);
  meter.add(0, 2.5, 250, 2.5);
  meter.add(2.5, 3, 100, 0.25);  // half of the time it was checked
  const std::vector<SoakPoint> points = meter.points(3.9);
  REQUIRE(points.size() == 3);
  CHECK(points[0].per_s == doctest::Approx(100));
  CHECK(points[1].per_s == doctest::Approx(100));
  CHECK(points[2].per_s == doctest::Approx((50 + 100) / 0.75));
  CHECK(meter.points(0.5).size() == 1);  // shorter than an interval
  CHECK(meter.latest(3.9) == points[2].per_s);
}
