// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
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

  /// An extent that is being read.
  struct Turn {
    Path path = Path::direct;
    std::size_t window = 0;
  };

  /// `window_bytes`: how much is measured in each window before the decision.
  explicit PathTrial(std::uint64_t window_bytes) : window_bytes_(window_bytes) {}

  /// The way of the next extent.
  Turn choose();

  /// The extent was read. A window's clock runs from when nothing of the one before is in flight.
  void report(const Turn& turn, std::uint64_t size_bytes, Clock::time_point now = Clock::now());

  /// Once it is decided; says what was found, in bytes per second of all threads together.
  std::optional<Path> decision() const;
  std::string text() const;

 private:
  struct Window {
    Path path;
    std::uint64_t in_flight = 0;  // extents
    std::uint64_t read_bytes = 0;
    Clock::time_point begin{};
    double bytes_per_s = 0;
  };

  void decide();

  const std::uint64_t window_bytes_;
  mutable std::mutex mutex_;
  std::array<Window, 3> windows_{{{Path::direct}, {Path::buffered}, {Path::direct}}};
  std::size_t current_ = 0;
  std::optional<Path> decision_;
};

}  // namespace hiptool::load
