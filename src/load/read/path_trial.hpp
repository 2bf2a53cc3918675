// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace hiptool::load {

/// Which way a file that is not cached comes faster, found out while it is read. Which one it is
/// depends on the disk: on a local NVMe disk reading past the page cache was twice as fast, on a
/// disk of a virtual machine that limits requests the kernel's read-ahead was by a third. One
/// window of bytes goes directly, one through the cache, one directly again, because a disk may
/// slow down after a rest; all others go the way that was faster. From many threads.
class PathTrial {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Path { direct, buffered };

  static constexpr std::uint64_t windows = 3;

  /// `window_bytes`: how much is read in each window before the decision.
  explicit PathTrial(std::uint64_t window_bytes) : window_bytes_(window_bytes) {}

  /// The way of the next extent.
  Path choose(std::uint64_t size_bytes);

  /// How long one thread took for an extent that went that way.
  void report(Path path, std::uint64_t size_bytes, Clock::duration elapsed);

  /// Once it is decided; says what was found, in bytes per second of all threads that took part.
  std::optional<Path> decision() const;
  std::string text() const;

 private:
  struct Way {
    std::uint64_t chosen_bytes = 0;
    std::uint64_t read_bytes = 0;
    std::chrono::duration<double> thread_time{0};

    double bytes_per_thread_s() const {
      return thread_time.count() > 0 ? static_cast<double>(read_bytes) / thread_time.count() : 0;
    }
  };

  Way& way(Path path) { return ways_[static_cast<std::size_t>(path)]; }
  const Way& way(Path path) const { return ways_[static_cast<std::size_t>(path)]; }

  const std::uint64_t window_bytes_;
  mutable std::mutex mutex_;
  std::array<Way, 2> ways_;
  std::optional<Path> decision_;
};

}  // namespace hiptool::load
