// SPDX-License-Identifier: MIT
#include "load/read/read_trial.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace hiptool::load {
namespace {

constexpr std::array<ReadWay, read_ways> all_ways{ReadWay::parallel, ReadWay::serial,
                                                  ReadWay::buffered};
// Going through the cache costs the other threads processor time and other files their place in it,
// and waiting for one request is no use on a disk that answers many.
constexpr double least_gain = 1.05;
// The rate of one window on the disk of a virtual machine varies by 0.2.
constexpr double least_share_of_best = 0.7;  // for a second window
constexpr double least_share_of_rival = 0.9;

std::size_t index_of(ReadWay way) { return static_cast<std::size_t>(way); }

const char* text_of(ReadWay way) {
  switch (way) {
    case ReadWay::serial: return "one large direct read at a time";
    case ReadWay::buffered: return "through the page cache";
    case ReadWay::parallel: break;
  }
  return "many direct reads at a time";
}

}  // namespace

KnownReadRates& KnownReadRates::of_process() {
  static KnownReadRates known;
  return known;
}

std::optional<ReadRates> KnownReadRates::find(std::uint64_t device) const {
  const std::lock_guard lock(mutex_);
  const auto found = rates_.find(device);
  if (found == rates_.end()) return {};
  return found->second;
}

void KnownReadRates::keep(std::uint64_t device, const ReadRates& rates) {
  const std::lock_guard lock(mutex_);
  rates_[device] = rates;
}

ReadTrial::ReadTrial(std::uint64_t window_bytes, const std::optional<ReadRates>& known)
    : window_bytes_(window_bytes), current_(ReadWay::parallel) {
  if (known) {
    decision_ = current_ = known->chosen;
    reason_ = "as an earlier load found";
    for (std::size_t i = 0; i < read_ways; ++i) {
      ways_[i].latest_bytes_per_s = known->bytes_per_s[i];
    }
  } else {
    waiting_ = {ReadWay::buffered, ReadWay::serial};
  }
}

ReadTrial::Turn ReadTrial::choose() {
  const std::lock_guard lock(mutex_);
  ++in_flight_;
  return {current_, window_};
}

void ReadTrial::report(const Turn& turn, std::uint64_t size_bytes, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  --(turn.window == window_ ? in_flight_ : in_flight_before_);
  if (begin_ == Clock::time_point()) {
    if (in_flight_before_ == 0) begin_ = now;
    return;
  }
  if (turn.window != window_) return;
  read_bytes_ += size_bytes;
  const std::chrono::duration<double> elapsed = now - begin_;
  if (read_bytes_ < window_bytes_ || elapsed.count() <= 0) return;
  const ReadWay before = current_;
  end_window(elapsed.count());
  read_bytes_ = 0;
  if (current_ == before) {
    begin_ = now;
    return;
  }
  ++window_;
  in_flight_before_ += in_flight_;
  in_flight_ = 0;
  begin_ = {};
}

void ReadTrial::end_window(double time_s) {
  Way& way = way_of(current_);
  way.latest_bytes_per_s = static_cast<double>(read_bytes_) / time_s;
  if (decision_) return watch(way.latest_bytes_per_s);
  way.bytes += read_bytes_;
  way.time_s += time_s;
  if (waiting_.empty()) end_round();
  if (decision_) {
    current_ = *decision_;
    return;
  }
  current_ = waiting_.back();
  waiting_.pop_back();
}

void ReadTrial::end_round() {
  std::array<double, read_ways> rates{};
  for (std::size_t i = 0; i < read_ways; ++i) {
    rates[i] = static_cast<double>(ways_[i].bytes) / ways_[i].time_s;
  }
  const double best = *std::ranges::max_element(rates);
  if (!is_last_round_) {
    is_last_round_ = true;
    // The one that was last goes first, so that each follows another one than before.
    for (const ReadWay way : all_ways) {
      if (rates[index_of(way)] >= least_share_of_best * best) waiting_.push_back(way);
    }
    if (waiting_.size() > 1) return;
    waiting_.clear();
  }
  decision_ = ReadWay::parallel;
  for (const ReadWay way : all_ways) {
    const double gain = rates[index_of(way)] / rates[index_of(*decision_)];
    if (gain > (*decision_ == ReadWay::parallel ? least_gain : 1)) decision_ = way;
  }
  for (std::size_t i = 0; i < read_ways; ++i) ways_[i].latest_bytes_per_s = rates[i];
}

void ReadTrial::watch(double bytes_per_s) {
  if (is_challenged_) {
    is_challenged_ = false;
    since_challenge_ = 0;
    patience_ *= 2;
    if (bytes_per_s > least_gain * way_of(*decision_).latest_bytes_per_s) {
      decision_ = current_;
      reason_ = "after a trial during the load";
    }
    current_ = *decision_;
    return;
  }
  const ReadWay rival = strongest_rival();
  if (++since_challenge_ < patience_) return;
  if (bytes_per_s >= least_share_of_rival * way_of(rival).latest_bytes_per_s) return;
  is_challenged_ = true;
  current_ = rival;
}

ReadWay ReadTrial::strongest_rival() const {
  ReadWay rival = *decision_;
  double best = -1;
  for (const ReadWay way : all_ways) {
    const double rate = ways_[index_of(way)].latest_bytes_per_s;
    if (way == *decision_ || rate <= best) continue;
    best = rate;
    rival = way;
  }
  return rival;
}

ReadRates ReadTrial::rates() const {
  ReadRates rates{*decision_, {}};
  for (std::size_t i = 0; i < read_ways; ++i) rates.bytes_per_s[i] = ways_[i].latest_bytes_per_s;
  return rates;
}

std::optional<ReadRates> ReadTrial::decision() const {
  const std::lock_guard lock(mutex_);
  if (!decision_) return {};
  return rates();
}

std::string ReadTrial::text() const {
  const std::lock_guard lock(mutex_);
  if (!decision_) return {};
  const auto rate_of = [&](ReadWay way) { return ways_[index_of(way)].latest_bytes_per_s; };
  std::string text = std::string(text_of(*decision_)) + ", " + reason_;
  if (rate_of(*decision_) > 0) text += ": " + format_rate(rate_of(*decision_));
  const char* separator = "; ";
  for (const ReadWay way : all_ways) {
    if (way == *decision_ || rate_of(way) <= 0) continue;
    text += separator + std::string(text_of(way)) + " " + format_rate(rate_of(way));
    separator = ", ";
  }
  return text;
}

}  // namespace hiptool::load
