// SPDX-License-Identifier: MIT
// When all GPUs work, and how much in each second.
#include <algorithm>
#include <cmath>

#include "accept/soak.hpp"

namespace hiptool::accept {
namespace {

constexpr double slow_pulse_hz = 1;
constexpr double fast_pulse_hz = 10;
constexpr double pulse_share = 0.1;
constexpr double most_pulse_share = 0.25;
constexpr double least_intervals = 30;

const SoakPlan::Pulse* pulse_at(const SoakPlan& plan, double at_s) {
  for (const SoakPlan::Pulse& pulse : plan.pulses) {
    if (at_s >= pulse.from_s && at_s < pulse.until_s) return &pulse;
  }
  return nullptr;
}

/// Halves of periods since the pulses began: work is on in even ones. A clock in nanoseconds that
/// was waited for must not be in the half before.
double half_of(const SoakPlan::Pulse& pulse, double at_s) {
  constexpr double rounding = 1e-6;
  return std::floor((at_s - pulse.from_s) * 2 * pulse.frequency_hz + rounding);
}

double begin_of_half(const SoakPlan::Pulse& pulse, double half) {
  return std::min(pulse.from_s + half / (2 * pulse.frequency_hz), pulse.until_s);
}

}  // namespace

double SoakPlan::on_from(double at_s) const {
  const Pulse* const pulse = pulse_at(*this, at_s);
  if (pulse == nullptr) return at_s;
  const double half = half_of(*pulse, at_s);
  return std::fmod(half, 2) == 0 ? at_s : begin_of_half(*pulse, half + 1);
}

double SoakPlan::on_until(double at_s) const {
  const Pulse* const pulse = pulse_at(*this, at_s);
  if (pulse == nullptr) return at_s < steady_s ? steady_s : duration_s;
  return begin_of_half(*pulse, half_of(*pulse, at_s) + 1);
}

std::uint64_t SoakPlan::pulses_until(double at_s) const {
  std::uint64_t count = 0;
  for (const Pulse& pulse : pulses) {
    if (at_s < pulse.from_s) continue;
    const double halves = std::max(half_of(pulse, pulse.until_s), 1.0);
    const double last = std::min(half_of(pulse, at_s), halves - 1);
    count += static_cast<std::uint64_t>(last / 2) + 1;
  }
  return count;
}

SoakPlan plan_soak(double duration_s, bool has_pulses) {
  SoakPlan plan;
  plan.duration_s = duration_s;
  plan.steady_s = duration_s;
  if (has_pulses) {
    const double share_s = duration_s * pulse_share;
    const double slow_s =
        std::min(std::max(share_s, 1 / slow_pulse_hz), duration_s * most_pulse_share);
    plan.steady_s = duration_s - slow_s - share_s;
    plan.pulses = {{slow_pulse_hz, plan.steady_s, plan.steady_s + slow_s},
                   {fast_pulse_hz, plan.steady_s + slow_s, duration_s}};
  }
  plan.interval_s = std::min(1.0, plan.steady_s / least_intervals);
  return plan;
}

RateMeter::RateMeter(const SoakPlan& plan)
    : interval_s_(plan.interval_s), steady_s_(plan.steady_s) {}

void RateMeter::add(double begin_s, double end_s, double amount, double busy_s) {
  const double time_s = std::max(end_s - begin_s, 1e-9);
  const double last_s = std::min(end_s, steady_s_);
  auto slot = static_cast<std::size_t>(std::max(begin_s, 0.0) / interval_s_);
  for (double from_s = begin_s; from_s < last_s; ++slot) {
    const double until_s =
        std::min(last_s, std::max(static_cast<double>(slot + 1) * interval_s_, from_s));
    if (slots_.size() <= slot) slots_.resize(slot + 1);
    const double share = (until_s - from_s) / time_s;
    slots_[slot].amount += amount * share;
    slots_[slot].busy_s += busy_s * share;
    from_s = until_s;
  }
}

std::vector<SoakPoint> RateMeter::points(double until_s) const {
  // The last interval of the steady part ends with it but for rounding.
  const auto whole = static_cast<std::size_t>(std::min(until_s, steady_s_) / interval_s_ + 1e-6);
  const std::size_t count = std::min(std::max<std::size_t>(whole, 1), slots_.size());
  std::vector<SoakPoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    if (slots_[i].busy_s <= 0 || slots_[i].amount <= 0) continue;
    points.push_back({static_cast<double>(i) * interval_s_, slots_[i].amount / slots_[i].busy_s});
  }
  return points;
}

double RateMeter::latest(double until_s) const {
  const std::vector<SoakPoint> all = points(until_s);
  return all.empty() ? 0 : all.back().per_s;
}

}  // namespace hiptool::accept
