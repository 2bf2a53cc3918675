// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "system/pci_path.hpp"

namespace hiptool::measure {

/// What the way to one device looked like while it was watched. Idle links lower their speed, so
/// the fastest look is what the link negotiated under load.
struct LinkObservation {
  std::string bus_id;
  std::size_t looks = 0;                   ///< that told a speed
  std::optional<system::PciPath> fastest;  ///< absent where no look told a speed
  std::optional<double> fastest_bytes_per_s;
  std::optional<double> slowest_bytes_per_s;
};

/// A thread that reads the PCIe path of some devices again and again while copies run. It looks at
/// files only and makes no runtime call. The first look is taken at once.
class LinkSampler {
 public:
  struct Options {
    std::filesystem::path root = "/";
    std::vector<std::string> bus_ids;
    std::chrono::milliseconds interval{50};
    std::function<void()> also;  ///< called after each look, on the same thread; must not throw
  };

  explicit LinkSampler(Options options);
  /// Stops the thread.
  ~LinkSampler();
  LinkSampler(const LinkSampler&) = delete;
  LinkSampler& operator=(const LinkSampler&) = delete;

  /// Stops the thread and tells what it saw, in the order of the bus ids; a second call tells it
  /// again.
  std::vector<LinkObservation> stop();

 private:
  void run();
  void look();

  Options options_;
  std::vector<LinkObservation> observations_;  // the thread's until it was joined
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace hiptool::measure
