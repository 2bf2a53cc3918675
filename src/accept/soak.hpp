// SPDX-License-Identifier: MIT
/// All GPUs at once under load for long: what each does again and again, how fast in each second,
/// and a verdict over all of them.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "accept/rates.hpp"
#include "accept/telemetry.hpp"
#include "accept/workers.hpp"
#include "hiptool/cancel.hpp"
#include "report/measurement.hpp"

namespace hiptool::accept {

/// How long `check` soaks if --duration does not say it.
inline constexpr double usual_soak_s = 600;

// ---- soak_plan.cpp

/// When all GPUs work: first without a pause, then in pulses, all on and all off at the same time.
struct SoakPlan {
  struct Pulse {
    double frequency_hz = 0;
    double from_s = 0;
    double until_s = 0;
  };
  double duration_s = 0;
  double steady_s = 0;    ///< rates are of this part alone
  double interval_s = 1;  ///< that one rate is of
  std::vector<Pulse> pulses;

  /// When work goes on, for a time since the start: then, or when the next pulse begins.
  double on_from(double at_s) const;
  /// Until when work goes on that is on at `at_s`.
  double on_until(double at_s) const;
  /// How many pulses there are up to that time.
  std::uint64_t pulses_until(double at_s) const;
};

/// With pulses a tenth of the time, but from a second to a fourth of it, at 1 Hz and another tenth
/// at 10 Hz. Rates are of one second, or of a thirtieth of shorter runs.
SoakPlan plan_soak(double duration_s, bool has_pulses);

/// A rate over one interval.
struct SoakPoint {
  double at_s = 0;  ///< the interval's beginning, since the start
  double per_s = 0;
};

/// Adds up work by intervals: what lasted over several counts in each for its part of the time.
class RateMeter {
 public:
  explicit RateMeter(const SoakPlan& plan);

  /// Work from `begin_s` to `end_s`, of which `busy_s` was spent on it.
  void add(double begin_s, double end_s, double amount, double busy_s);
  /// The rates of whole intervals up to `until_s` in which there was work. A run that was shorter
  /// than an interval has that one.
  std::vector<SoakPoint> points(double until_s) const;
  /// That of the last whole interval; 0: there is none.
  double latest(double until_s) const;

 private:
  struct Slot {
    double amount = 0;
    double busy_s = 0;
  };
  double interval_s_;
  double steady_s_;
  std::vector<Slot> slots_;
};

// ---- soak.cpp

/// What a round of a load did.
struct SoakRound {
  std::uint64_t runs = 0;
  double amount = 0;  ///< bytes, or floating-point operations
  double busy_s = 0;
  std::uint64_t checked = 0;  ///< values
  double max_error = 0;
  std::optional<report::WrongData> wrong;
  std::string missed_fault;  ///< a planted one that a test did not find

  bool is_right() const { return !wrong && missed_fault.empty(); }
};

/// Work of one device that is repeated, each result checked. Its clock is its own, for tests.
class SoakLoad {
 public:
  virtual ~SoakLoad() = default;
  virtual std::string name() const = 0;        ///< "products"
  virtual std::string label() const = 0;       ///< "soak.products.f16"
  virtual bool counts_operations() const = 0;  ///< amounts are operations, else bytes
  virtual bool has_pulses() const = 0;         ///< takes part in pulses, else ends before them
  virtual SoakRound run(double time_s) = 0;    ///< for about that long; blocks
  virtual SoakRound finish() { return {}; }    ///< checks what no round has; blocks
  virtual void begin(TimePoint) {}             ///< all devices start now
  virtual TimePoint now() const { return std::chrono::steady_clock::now(); }
  virtual void sleep_until(TimePoint until);
  virtual double round_s() const { return 0.02; }  ///< of a round, if nothing ends it earlier
};

/// What came out of one load of one device.
struct SoakedLoad {
  std::string device;
  std::string name;
  std::string label;
  bool counts_operations = false;
  bool was_interrupted = false;
  double interval_s = 1;
  double ran_s = 0;  ///< since the start
  std::vector<SoakPoint> points;
  std::uint64_t runs = 0;
  double amount = 0;
  std::uint64_t checked = 0;
  double max_error = 0;
  std::uint64_t wrong_rounds = 0;
  SoakRound first_wrong;
  double first_wrong_at_s = 0;
  std::uint64_t pulses = 0;
  double latest_pulse_s = 0;  ///< the longest delay of one

  std::vector<double> rates() const;
};

/// "1 wrong value, the first at 1000, bits 0x10, after 12.3 s": for people.
std::string wrong_text(const SoakedLoad& soaked);

/// As measurements of documents have it: the median rate, and in `details` what each second was.
report::Measurement measurement_of(const SoakedLoad& soaked);

/// One soak of several devices, each of which calls from a thread of its own.
class Soak {
 public:
  struct Options {
    SoakPlan plan;
    std::size_t devices = 0;
    double patience_s = 30;  ///< for a device that gets ready; the others start without it
    const CancelToken* cancel = nullptr;
  };
  using OnWrong = std::function<void(const SoakedLoad&)>;

  explicit Soak(Options options);

  /// A device's place, which the others wait for until it has started or is gone.
  class Place {
   public:
    explicit Place(Soak& soak) : soak_(soak) {}
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Waits for all devices, then runs each load on a thread of its own until the plan ends or the
    /// run is cancelled. `on_wrong` is called once for a load with wrong results, at once, on its
    /// thread. Blocks. Where loads throw, the others of the device end too, and the worst error is
    /// thrown: see report::severity_of().
    std::vector<SoakedLoad> run(const std::string& device,
                                const std::vector<std::unique_ptr<SoakLoad>>& loads,
                                Heartbeat& heart, const OnWrong& on_wrong);

   private:
    Soak& soak_;
    bool has_arrived_ = false;
  };

  /// Of all devices that came to their end.
  std::vector<SoakedLoad> results() const;
  /// "12.0 s of 600 s, products 512 TFLOP/s, ...": of a device now.
  std::string text_of(const std::string& device) const;
  double elapsed_s() const;
  std::optional<TimePoint> started_at() const;
  const SoakPlan& plan() const noexcept { return options_.plan; }

 private:
  class Runner;

  TimePoint wait_for_all();
  void arrive();
  void set_text(const std::string& device, std::size_t load, std::string text);

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  std::optional<TimePoint> started_;
  std::vector<std::pair<std::string, std::vector<std::string>>> texts_;  ///< by device
  std::vector<SoakedLoad> results_;
};

// ---- soak_judge.cpp

/// A device that became slower, by the medians of its last and its first third.
struct Slowing {
  double first_per_s = 0;
  double last_per_s = 0;
  double since_s = 0;  ///< from when on
};

/// Nothing where the last third is not more than `spread` (0.1: 10 %) below the first, or where the
/// noise explains it: the 95 % interval of the change (base::compare_times()) reaches that bound.
/// Fewer than 9 rates in a third are never enough.
std::optional<Slowing> find_slowing(const std::vector<SoakPoint>& points, double spread);

/// Judges all devices of a soak that came to its end: GPUs that slow, and of three or more of one
/// name those more than `spread` below the median of the others whose fastest twentieth of the
/// seconds does not reach that, of four or more those below all others; slow ones are left out
/// before the next is compared. Copies share the host, and the processor its cores with others:
/// neither is judged so. An expectation of the rules is met by the median. `results` counts those
/// that were compared.
std::vector<RateFault> judge_soak(const std::vector<SoakedLoad>& soaked, const RateRules& rules,
                                  ExpectationResults& results);

}  // namespace hiptool::accept
