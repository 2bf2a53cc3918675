// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hiptool::load {

/// How bytes of a file that is not cached are read.
enum class ReadWay : std::uint8_t {
  parallel,  ///< past the page cache, every reader for itself
  serial,    ///< past the page cache, in large requests, one at a time
  buffered,  ///< through the page cache, with the kernel's read-ahead
};
inline constexpr std::size_t read_ways = 3;

/// The way that was chosen and the rates that all were last seen with; 0: not seen.
struct ReadRates {
  ReadWay chosen = ReadWay::parallel;
  std::array<double, read_ways> bytes_per_s{};  // by way
};

/// What was found out about file systems; for later models of the process. From many threads.
class KnownReadRates {
 public:
  /// The device that a file system is on, stat(2)'s st_dev, and how many readers there were.
  using Key = std::pair<std::uint64_t, std::uint32_t>;

  static KnownReadRates& of_process();

  std::optional<ReadRates> find(const Key& key) const;
  void keep(const Key& key, const ReadRates& rates);

 private:
  mutable std::mutex mutex_;
  std::map<Key, ReadRates> rates_;
};

/// Which way a file comes fastest, found out while it is read. Which one it is depends on the disk:
/// on a local NVMe disk many requests at once were twice as fast as the kernel's read-ahead, on
/// disks of virtual machines the read-ahead was by a third, on others one large request at a time.
/// Each way gets a window of bytes, those that are not far below the best a second one, because a
/// disk's rate wanders; the fastest gets the rest. Where it becomes slower than another was, that
/// one has a window and then it once more, and the faster of the two goes on. From many threads.
class ReadTrial {
 public:
  using Clock = std::chrono::steady_clock;

  /// An extent that is being read.
  struct Turn {
    ReadWay way = ReadWay::parallel;
    std::uint64_t window = 0;
  };

  /// `window_bytes`: how much is measured in each window. With `known` there is no trial at first.
  explicit ReadTrial(std::uint64_t window_bytes, const std::optional<ReadRates>& known = {});

  /// The way of the next extent, which is in flight until end().
  Turn choose();

  /// Bytes of the extent have arrived. A window's clock runs from when nothing of those before is
  /// in flight and half as many bytes as it measures have come that way; it stops early where the
  /// way takes three times as long as the best one would.
  void progress(const Turn& turn, std::uint64_t size_bytes, Clock::time_point now = Clock::now());
  void end(const Turn& turn);

  /// Whether an extent was read, and whether a window has ended.
  bool is_used() const;
  bool has_measured() const;
  /// Once it is decided.
  std::optional<ReadRates> decision() const;
  /// Says what was found, in bytes per second of all threads together; empty before.
  std::string text() const;

 private:
  struct Way {
    std::uint64_t bytes = 0;
    double time_s = 0;
    double latest_bytes_per_s = 0;
  };

  Way& way_of(ReadWay way) { return ways_[static_cast<std::size_t>(way)]; }
  ReadRates rates() const;
  bool is_hopeless(Clock::duration elapsed) const;
  void end_window(std::uint64_t bytes, Clock::duration elapsed);
  void choose_next(std::uint64_t bytes, double time_s);
  void end_round();
  void watch(double bytes_per_s);
  ReadWay strongest_rival() const;

  const std::uint64_t window_bytes_;
  mutable std::mutex mutex_;
  std::array<Way, read_ways> ways_{};
  std::vector<ReadWay> waiting_;  // windows of this round, the next one last
  bool is_last_round_ = false;
  std::optional<ReadWay> decision_;
  const char* reason_ = "after a trial";  // of the decision
  std::optional<ReadWay> challenger_;     // has a window, then the chosen way does
  std::uint64_t patience_ = 1;            // windows from one challenge to the next
  std::uint64_t since_challenge_ = 0;

  ReadWay current_ = ReadWay::parallel;
  std::uint64_t turns_ = 0;
  std::uint64_t windows_ = 0;           // that have ended
  std::uint64_t window_ = 0;            // changes with the way
  std::uint64_t in_flight_ = 0;         // extents of this window
  std::uint64_t in_flight_before_ = 0;  // of earlier ones
  std::uint64_t bytes_ = 0;             // since the window's clock runs; before, since it began
  Clock::time_point latest_{};          // threads report in another order than they read the clock
  Clock::time_point begin_{};
  bool is_timed_ = false;
};

}  // namespace hiptool::load
