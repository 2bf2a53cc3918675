// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/output/console.hpp"
#include "hiptool/cancel.hpp"

namespace hiptool::cli {

/// Calls Console::beat() during its lifetime, from a thread of its own, so that a run in which
/// nothing else is shown is seen to go on. Where no thread can be started, there are no beats.
class Heartbeat {
 public:
  /// `run_name` names the run as a whole: "hiptool check".
  Heartbeat(Console& console, const CancelToken& cancel, const std::string& run_name);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void run();

  Console& console_;
  const CancelToken& cancel_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::thread thread_;
};

}  // namespace hiptool::cli
