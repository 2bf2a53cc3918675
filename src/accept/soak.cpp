// SPDX-License-Identifier: MIT
#include "accept/soak.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "accept/stages.hpp"
#include "base/clock.hpp"
#include "base/host_error.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace hiptool::accept {
namespace {

constexpr std::chrono::milliseconds longest_sleep{20};  // between looks at the cancellation
constexpr std::chrono::milliseconds heart_pause{100};
constexpr double text_pause_s = 0.2;

TimePoint at(TimePoint start, double time_s) {
  return start +
         std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(time_s));
}

double seconds_between(TimePoint from, TimePoint until) {
  return std::chrono::duration<double>(until - from).count();
}

std::string per_s_text(bool counts_operations, double per_s) {
  return counts_operations ? report::format_value(per_s, report::Unit::operations)
                           : format_rate(per_s);
}

}  // namespace

void SoakLoad::sleep_until(TimePoint until) { std::this_thread::sleep_until(until); }

std::vector<double> SoakedLoad::rates() const {
  std::vector<double> rates;
  for (const SoakPoint& point : points) rates.push_back(point.per_s);
  return rates;
}

std::string wrong_text(const SoakedLoad& soaked) {
  const SoakRound& first = soaked.first_wrong;
  const std::string what = first.wrong ? wrong_text(*first.wrong) : first.missed_fault;
  return fmt::format("{}, after {} of {}", what, format_duration(soaked.first_wrong_at_s),
                     soaked.name);
}

report::Measurement measurement_of(const SoakedLoad& soaked) {
  report::Measurement measured;
  measured.id = soaked.label + "@" + soaked.device;
  measured.kind = "soak";
  measured.destination = soaked.device;
  measured.set_names();
  measured.devices = {soaked.device};
  measured.checked = soaked.checked;
  measured.max_error = soaked.max_error;
  const std::vector<double> rates = soaked.rates();
  const double per_run = soaked.runs > 0 ? soaked.amount / static_cast<double>(soaked.runs) : 0;
  if (!rates.empty() && per_run > 0) {
    for (const double rate : rates) measured.samples_s.push_back(per_run / rate);
    const double median = base::median(rates);
    measured.median_s = per_run / median;
    if (soaked.counts_operations) {
      measured.flops_per_s = median;
    } else {
      measured.bytes_per_s = median;
    }
  }
  if (soaked.wrong_rounds > 0) {
    measured.status = report::Status::mismatch;
    measured.wrong = soaked.first_wrong.wrong;
    measured.reason = wrong_text(soaked);
  } else if (soaked.was_interrupted) {
    measured.reason = "interrupted after " + format_duration(soaked.ran_s);
  }
  const base::Summary summary = base::summarize(rates);
  const auto known = [&](double value) {
    return rates.empty() ? report::Value() : report::Value(value);
  };
  report::Array points;
  for (const SoakPoint& point : soaked.points) {
    points.emplace_back(report::Object{{"at_s", point.at_s}, {"per_s", point.per_s}});
  }
  measured.details = {{"load", soaked.name},
                      {"runs", soaked.runs},
                      {"ran_s", soaked.ran_s},
                      {"interval_s", soaked.interval_s},
                      {"least_per_s", known(summary.min)},
                      {"median_per_s", known(summary.median)},
                      {"most_per_s", known(summary.max)},
                      {"deviation_per_s", known(summary.deviation)},
                      {"wrong_rounds", soaked.wrong_rounds},
                      {"pulses", soaked.pulses},
                      {"latest_pulse_s", soaked.latest_pulse_s},
                      {"rates", std::move(points)}};
  return measured;
}

/// One load on its thread.
class Soak::Runner {
 public:
  Runner(Soak& soak, const std::string& device, std::size_t index, SoakLoad& load,
         const OnWrong& on_wrong, std::atomic<bool>& shall_end)
      : soak_(soak),
        plan_(soak.options_.plan),
        index_(index),
        load_(load),
        on_wrong_(on_wrong),
        shall_end_(shall_end),
        meter_(plan_) {
    soaked_.device = device;
    soaked_.name = load.name();
    soaked_.label = load.label();
    soaked_.counts_operations = load.counts_operations();
    soaked_.interval_s = plan_.interval_s;
  }

  void run(TimePoint start) noexcept {
    try {
      load_.begin(start);
      start_ = start;
      const double end_s = load_.has_pulses() ? plan_.duration_s : plan_.steady_s;
      for (double at_s = elapsed_s(); at_s < end_s && !is_over(); at_s = elapsed_s()) {
        if (wait_for_pulse(at_s)) continue;
        work(at_s, std::min(plan_.on_until(at_s), end_s));
      }
      soaked_.was_interrupted = soak_.options_.cancel->is_cancelled();
      keep(load_.finish(), elapsed_s());
    } catch (const Error& error) {
      end_with(error);
    } catch (const std::exception& exception) {
      end_with(base::to_error(exception));
    }
    soaked_.ran_s = std::max(elapsed_s(), 0.0);
    soaked_.points = meter_.points(soaked_.ran_s);
    if (load_.has_pulses()) soaked_.pulses = plan_.pulses_until(soaked_.ran_s);
    begun_ns_ = 0;
  }

  SoakedLoad take() { return std::move(soaked_); }
  const std::optional<Error>& error() const { return error_; }
  const SoakLoad& load() const { return load_; }
  /// When the round began that is not done; nothing between rounds.
  std::optional<TimePoint> round_since() const {
    const std::int64_t ns = begun_ns_.load();
    if (ns == 0) return {};
    return TimePoint(std::chrono::nanoseconds(ns));
  }

 private:
  void end_with(Error error) {
    error_ = std::move(error);
    shall_end_ = true;
  }
  double elapsed_s() const { return seconds_between(start_, load_.now()); }
  bool is_over() const { return shall_end_.load() || soak_.options_.cancel->is_cancelled(); }

  /// True if it waited, because the pulse is off.
  bool wait_for_pulse(double at_s) {
    const double on_s = plan_.on_from(at_s);
    if (on_s <= at_s) return false;
    const TimePoint until = at(start_, on_s);
    while (!is_over() && load_.now() < until) {
      load_.sleep_until(std::min(until, load_.now() + longest_sleep));
    }
    if (on_s < plan_.duration_s) {
      soaked_.latest_pulse_s = std::max(soaked_.latest_pulse_s, elapsed_s() - on_s);
    }
    return true;
  }

  void work(double at_s, double until_s) {
    begun_ns_ = std::chrono::steady_clock::now().time_since_epoch().count();
    SoakRound round = load_.run(std::min(load_.round_s(), until_s - at_s));
    begun_ns_ = 0;
    const double now_s = elapsed_s();
    meter_.add(at_s, now_s, round.amount, round.busy_s);
    soaked_.runs += round.runs;
    soaked_.amount += round.amount;
    keep(std::move(round), at_s);
    if (now_s - told_s_ < text_pause_s) return;
    told_s_ = now_s;
    soak_.set_text(soaked_.device, index_,
                   fmt::format("{} {}{}", soaked_.name,
                               per_s_text(soaked_.counts_operations, meter_.latest(now_s)),
                               soaked_.wrong_rounds > 0 ? " WRONG" : ""));
  }

  void keep(SoakRound round, double at_s) {
    soaked_.checked += round.checked;
    soaked_.max_error = std::max(soaked_.max_error, round.max_error);
    if (round.is_right()) return;
    ++soaked_.wrong_rounds;
    if (soaked_.wrong_rounds > 1) return;
    soaked_.first_wrong = std::move(round);
    soaked_.first_wrong_at_s = at_s;
    if (on_wrong_) on_wrong_(soaked_);
  }

  Soak& soak_;
  const SoakPlan& plan_;
  std::size_t index_;
  SoakLoad& load_;
  const OnWrong& on_wrong_;
  std::atomic<bool>& shall_end_;
  RateMeter meter_;
  SoakedLoad soaked_;
  TimePoint start_;
  double told_s_ = 0;
  std::atomic<std::int64_t> begun_ns_{0};
  std::optional<Error> error_;
};

Soak::Soak(Options options) : options_(std::move(options)) {}

Soak::Place::~Place() {
  if (!has_arrived_) soak_.arrive();
}

void Soak::arrive() {
  const std::lock_guard lock(mutex_);
  ++arrived_;
  changed_.notify_all();
}

TimePoint Soak::wait_for_all() {
  arrive();
  const auto patience = std::chrono::duration<double>(options_.patience_s);
  const TimePoint until =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<TimePoint::duration>(patience);
  std::unique_lock lock(mutex_);
  while (!started_) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (arrived_ >= options_.devices || now >= until || options_.cancel->is_cancelled()) {
      started_ = now;
      changed_.notify_all();
      break;
    }
    changed_.wait_for(lock, longest_sleep);
  }
  return *started_;
}

std::vector<SoakedLoad> Soak::Place::run(const std::string& device,
                                         const std::vector<std::unique_ptr<SoakLoad>>& loads,
                                         Heartbeat& heart, const OnWrong& on_wrong) {
  {
    const std::lock_guard lock(soak_.mutex_);
    soak_.texts_.emplace_back(device, std::vector<std::string>(loads.size()));
  }
  heart.step("waiting for the other devices", 3);
  has_arrived_ = true;
  const TimePoint start = soak_.wait_for_all();
  std::atomic<bool> shall_end{false};
  std::vector<std::unique_ptr<Runner>> runners;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    runners.push_back(std::make_unique<Runner>(soak_, device, i, *loads[i], on_wrong, shall_end));
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t running = runners.size();
  std::vector<std::thread> threads;
  for (const auto& runner : runners) {
    const auto task = [&, runner = runner.get()] {
      runner->run(start);
      const std::lock_guard lock(mutex);
      --running;
      changed.notify_all();
    };
    try {
      threads.emplace_back(task);
    } catch (const std::system_error&) {
      task();  // no thread to be had: one load after the other
    }
  }
  std::unique_lock lock(mutex);
  while (running > 0) {
    // A load that hangs must not hide behind the others.
    std::optional<TimePoint> oldest;
    std::string name = "a round";
    for (const auto& runner : runners) {
      const std::optional<TimePoint> since = runner->round_since();
      if (!since || (oldest && *oldest <= *since)) continue;
      oldest = since;
      name = runner->load().name();
    }
    heart.step(name + " on " + device, 1, oldest.value_or(std::chrono::steady_clock::now()));
    changed.wait_for(lock, heart_pause);
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  std::vector<SoakedLoad> results;
  std::vector<Error> errors;
  for (const auto& runner : runners) {
    results.push_back(runner->take());
    if (runner->error()) errors.push_back(*runner->error());
  }
  if (!errors.empty()) {
    throw *std::ranges::max_element(errors, {}, [](const Error& error) {
      return report::severity_of(report::exit_code_of(error.code()));
    });
  }
  const std::lock_guard keep(soak_.mutex_);
  soak_.results_.insert(soak_.results_.end(), results.begin(), results.end());
  return results;
}

void Soak::set_text(const std::string& device, std::size_t load, std::string text) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, texts] : texts_) {
    if (id == device) texts[load] = std::move(text);
  }
}

std::vector<SoakedLoad> Soak::results() const {
  const std::lock_guard lock(mutex_);
  return results_;
}

std::optional<TimePoint> Soak::started_at() const {
  const std::lock_guard lock(mutex_);
  return started_;
}

double Soak::elapsed_s() const {
  const std::lock_guard lock(mutex_);
  return started_ ? base::seconds_since(*started_) : 0;
}

std::string Soak::text_of(const std::string& device) const {
  const std::lock_guard lock(mutex_);
  if (!started_) return "getting ready";
  const double elapsed_s = std::min(base::seconds_since(*started_), options_.plan.duration_s);
  std::string text = fmt::format("{:.0f} of {:.0f} s", elapsed_s, options_.plan.duration_s);
  for (const auto& [id, texts] : texts_) {
    if (id != device) continue;
    for (const std::string& one : texts) {
      if (!one.empty()) text += ", " + one;
    }
  }
  return text;
}

}  // namespace hiptool::accept
