// SPDX-License-Identifier: MIT
#include "sweep/subject.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "hip/cpu/accounting.hpp"
#include "scenarios/platform.hpp"
#include "scenarios/tools.hpp"
#include "support.hpp"
#include "waiting.hpp"

namespace hiptool::sweep {
namespace {

using hip::cpu::Accounting;
using std::chrono::seconds;

constexpr int quick_rounds = 4;

/// Ends the process when it is not gone in time: whoever hangs cannot be asked to stop.
class Watchdog {
 public:
  explicit Watchdog(std::string what)
      : what_(std::move(what)), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

 private:
  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    // Longer than a gate's own patience, so that one that was left shut is no hang.
    if (gone_.wait_for(lock, stop, seconds(120), [&stop] { return stop.stop_requested(); })) return;
    if (stop.stop_requested()) return;
    std::cout << "hangs: " << what_ << std::endl;
    std::_Exit(1);
  }

  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any gone_;
  std::jthread thread_;
};

std::string to_text(const test::LiveCounts& live) {
  return std::to_string(live.device_memory) + " device memory, " +
         std::to_string(live.host_memory) + " host memory, " + std::to_string(live.registrations) +
         " registrations, " + std::to_string(live.streams) + " streams, " +
         std::to_string(live.events) + " events, " + std::to_string(live.modules) + " modules, " +
         std::to_string(live.graphs) + " graphs";
}

/// What a stream still has to free goes a little later.
bool comes_back_to(const Accounting& before) {
  return test::comes_true([&] { return hip::cpu::live_objects() == before; });
}

/// What a run may leave behind whose calls failed and which no object owns: another device is
/// current, a peer access is enabled.
void tidy_up(const Subject& subject) {
  static_cast<void>(subject.api.hipSetDevice(0));
  if (subject.device_count > 1) static_cast<void>(subject.api.hipDeviceDisablePeerAccess(1));
}

}  // namespace

Outcome run(const Subject& subject, const scenarios::Scenario& scenario,
            const test::WrapperTable& table, const std::string& what) {
  tidy_up(subject);
  const Accounting before = hip::cpu::live_objects();
  const test::LiveCounts live_before = table.live();  // a leak counts where it began only
  const Watchdog watchdog(what);
  const auto trace = std::make_shared<test::RecordingTrace>();
  Outcome outcome;
  {
    scenarios::FixedPlatform platform(subject.platform, table.api(), subject.device_count, trace);
    const auto devices = platform.devices();
    try {
      scenario.run({devices, quick_rounds});
    } catch (const Error& error) {
      outcome.error = error;
    } catch (const std::exception& failure) {
      outcome.wrong = failure.what();
    }
  }
  outcome.notes = trace->notes();
  const test::LiveCounts left = table.live() - live_before;
  if (!left.is_empty()) {
    outcome.leaked = to_text(left);
  } else if (!comes_back_to(before)) {
    outcome.leaked = "what only the cpu platform's own account knows";
  }
  return outcome;
}

void for_each_scenario(const Subject& subject, std::span<const scenarios::Scenario> all,
                       const std::function<void(const scenarios::Scenario&)>& visit) {
  scenarios::FixedPlatform platform(subject.platform, subject.api, subject.device_count);
  const auto devices = platform.devices();
  for (const scenarios::Scenario& scenario : all) {
    if (scenario.name.find(subject.scenario_part) == std::string_view::npos) continue;
    const std::string reason = scenarios::reason_to_skip(scenario, devices);
    if (reason.empty()) {
      visit(scenario);
    } else {
      std::cout << "skipped case: " << scenario.name << ": " << reason << '\n';
    }
  }
}

}  // namespace hiptool::sweep
