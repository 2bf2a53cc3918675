// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "system/pci_path.hpp"

namespace hiptool::machine {

/// The fastest PCIe path of one device while it was watched: idle links lower their speed, so this
/// is what the link negotiated under load. Both are absent if no speed was reported or read.
struct LinkObservation {
  std::string bus_id;
  std::optional<system::PciPath> fastest;
  std::optional<double> fastest_bytes_per_s;
};

/// A thread that repeatedly reads the PCIe paths of devices while copies run. It only reads files
/// and makes no runtime call. The first read starts at once.
class LinkSampler {
 public:
  struct Options {
    std::filesystem::path root = "/";
    std::vector<std::string> bus_ids;
    std::chrono::milliseconds interval{50};
    std::function<void()> also;  ///< called after each read, on the same thread; must not throw
    /// After a call of `also` that takes longer the observations are absent: the load may have
    /// begun and ended meanwhile.
    std::chrono::milliseconds longest_call{1'000};
  };

  explicit LinkSampler(Options options);
  /// Stops the thread.
  ~LinkSampler();
  LinkSampler(const LinkSampler&) = delete;
  LinkSampler& operator=(const LinkSampler&) = delete;

  /// Stops the thread and returns the observations in the order of the bus ids; may be called
  /// again.
  std::vector<LinkObservation> stop();

 private:
  void run();
  void read();

  Options options_;
  std::vector<LinkObservation> observations_;  // owned by the thread until it was joined
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;
  bool has_missed_ = false;  // the thread's, as the observations
  std::thread thread_;
};

}  // namespace hiptool::machine
