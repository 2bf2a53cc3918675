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
constexpr double least_gain_of_rival = 1.1;
constexpr double most_times_of_best = 3;

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

std::optional<ReadRates> KnownReadRates::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = rates_.find(key);
  if (found == rates_.end()) return {};
  return found->second;
}

void KnownReadRates::keep(const Key& key, const ReadRates& rates) {
  const std::lock_guard lock(mutex_);
  rates_[key] = rates;
}

ReadTrial::ReadTrial(std::uint64_t window_bytes, const std::optional<ReadRates>& known)
    : window_bytes_(window_bytes) {
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
  ++turns_;
  ++in_flight_;
  return {current_, window_};
}

void ReadTrial::end(const Turn& turn) {
  const std::lock_guard lock(mutex_);
  --(turn.window == window_ ? in_flight_ : in_flight_before_);
}

void ReadTrial::progress(const Turn& turn, std::uint64_t size_bytes, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  latest_ = std::max(latest_, now);
  if (begin_ == Clock::time_point()) begin_ = latest_;
  if (turn.window != window_) return;
  bytes_ += size_bytes;
  const Clock::duration elapsed = latest_ - begin_;
  const bool is_hopeless_now = is_hopeless(elapsed);
  if (!is_timed_ && !is_hopeless_now) {
    // What was begun earlier, and blocks that are read for a part of them, count for neither way.
    if (in_flight_before_ > 0 || bytes_ < window_bytes_ / 2) return;
    is_timed_ = true;
    begin_ = latest_;
    bytes_ = 0;
    return;
  }
  if (elapsed <= Clock::duration::zero() || (bytes_ < window_bytes_ && !is_hopeless_now)) return;
  end_window(bytes_, elapsed);
}

bool ReadTrial::is_hopeless(Clock::duration elapsed) const {
  if (decision_ && !challenger_) return false;
  double best = 0;
  for (const Way& way : ways_) best = std::max(best, way.latest_bytes_per_s);
  return std::chrono::duration<double>(elapsed).count() * best >
         most_times_of_best * static_cast<double>(window_bytes_);
}

void ReadTrial::end_window(std::uint64_t bytes, Clock::duration elapsed) {
  const ReadWay before = current_;
  ++windows_;
  choose_next(bytes, std::chrono::duration<double>(elapsed).count());
  bytes_ = 0;
  begin_ = latest_;
  if (current_ == before) {
    is_timed_ = true;
    return;
  }
  is_timed_ = false;
  ++window_;
  in_flight_before_ += in_flight_;
  in_flight_ = 0;
}

void ReadTrial::choose_next(std::uint64_t bytes, double time_s) {
  Way& way = way_of(current_);
  way.latest_bytes_per_s = static_cast<double>(bytes) / time_s;
  if (decision_) return watch(way.latest_bytes_per_s);
  way.bytes += bytes;
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
  if (challenger_ && current_ == *challenger_) {
    current_ = *decision_;
    return;
  }
  if (challenger_) {
    // The window that gave rise to this does not count: it was slow, perhaps by chance.
    if (way_of(*challenger_).latest_bytes_per_s > least_gain_of_rival * bytes_per_s) {
      decision_ = current_ = *challenger_;
      reason_ = "after a trial during the load";
    }
    challenger_.reset();
    since_challenge_ = 0;
    patience_ *= 2;
    return;
  }
  const ReadWay rival = strongest_rival();
  if (++since_challenge_ < patience_) return;
  if (bytes_per_s >= least_share_of_rival * way_of(rival).latest_bytes_per_s) return;
  challenger_ = current_ = rival;
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

bool ReadTrial::is_used() const {
  const std::lock_guard lock(mutex_);
  return turns_ > 0;
}

bool ReadTrial::has_measured() const {
  const std::lock_guard lock(mutex_);
  return windows_ > 0;
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
