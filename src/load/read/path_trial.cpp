// SPDX-License-Identifier: MIT
#include "load/read/path_trial.hpp"

#include <cmath>

namespace hiptool::load {
namespace {

// Going through the cache costs the other threads processor time and other files their place in it,
// and the rate of one window on the disk of a virtual machine varies by 0.2.
constexpr double least_gain = 1.2;

}  // namespace

PathTrial::Turn PathTrial::choose() {
  const std::lock_guard lock(mutex_);
  if (decision_) return {*decision_, windows_.size()};
  Window& window = windows_[current_];
  ++window.in_flight;
  return {window.path, current_};
}

void PathTrial::report(const Turn& turn, std::uint64_t size_bytes, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (decision_ || turn.window == windows_.size()) return;
  --windows_[turn.window].in_flight;
  Window& window = windows_[current_];
  if (window.begin == Clock::time_point()) {
    if (current_ == 0 || windows_[current_ - 1].in_flight == 0) window.begin = now;
    return;
  }
  if (turn.window != current_) return;
  window.read_bytes += size_bytes;
  const std::chrono::duration<double> elapsed = now - window.begin;
  if (window.read_bytes < window_bytes_ || elapsed.count() <= 0) return;
  window.bytes_per_s = static_cast<double>(window.read_bytes) / elapsed.count();
  if (++current_ == windows_.size()) decide();
}

void PathTrial::decide() {
  const double direct = (windows_[0].bytes_per_s + windows_[2].bytes_per_s) / 2;
  decision_ = windows_[1].bytes_per_s > least_gain * direct ? Path::buffered : Path::direct;
}

std::optional<PathTrial::Path> PathTrial::decision() const {
  const std::lock_guard lock(mutex_);
  return decision_;
}

std::string PathTrial::text() const {
  const std::lock_guard lock(mutex_);
  if (!decision_) return {};
  const double direct = (windows_[0].bytes_per_s + windows_[2].bytes_per_s) / 2;
  return std::string(*decision_ == Path::buffered ? "through" : "past") +
         " the page cache, after a trial of both: through it came " +
         std::to_string(std::lround(100 * windows_[1].bytes_per_s / direct)) +
         " % of the rate past it";
}

}  // namespace hiptool::load
