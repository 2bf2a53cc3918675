// SPDX-License-Identifier: MIT
#include "load/read/path_trial.hpp"

#include <cmath>

namespace hiptool::load {
namespace {

// Going through the cache costs the other threads processor time and other files their place in it,
// and the rate of one window on the disk of a virtual machine varies by 0.2.
constexpr double least_gain = 1.15;

}  // namespace

PathTrial::Path PathTrial::choose(std::uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (decision_) return *decision_;
  // What is under way when all windows are given out goes directly.
  const bool has_begun = way(Path::direct).chosen_bytes >= window_bytes_;
  const bool is_buffered = has_begun && way(Path::buffered).chosen_bytes < window_bytes_;
  const Path path = is_buffered ? Path::buffered : Path::direct;
  way(path).chosen_bytes += size_bytes;
  return path;
}

void PathTrial::report(Path path, std::uint64_t size_bytes, Clock::duration elapsed) {
  const std::lock_guard lock(mutex_);
  if (decision_) return;
  way(path).read_bytes += size_bytes;
  way(path).thread_time += elapsed;
  const Way& direct = way(Path::direct);
  const Way& buffered = way(Path::buffered);
  const bool has_both =
      direct.read_bytes >= 2 * window_bytes_ && buffered.read_bytes >= window_bytes_;
  if (!has_both) return;
  decision_ = buffered.bytes_per_thread_s() > least_gain * direct.bytes_per_thread_s()
                  ? Path::buffered
                  : Path::direct;
}

std::optional<PathTrial::Path> PathTrial::decision() const {
  const std::lock_guard lock(mutex_);
  return decision_;
}

std::string PathTrial::text() const {
  const std::lock_guard lock(mutex_);
  if (!decision_) return {};
  const double direct = way(Path::direct).bytes_per_thread_s();
  const double ratio = direct > 0 ? way(Path::buffered).bytes_per_thread_s() / direct : 0;
  return std::string(*decision_ == Path::buffered ? "through" : "past") +
         " the page cache, after a trial of both: through it came " +
         std::to_string(std::lround(100 * ratio)) + " % of the rate past it";
}

}  // namespace hiptool::load
