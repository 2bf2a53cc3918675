// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/console.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"
#include "report/run.hpp"

namespace hiptool::cli {

/// Everything that a run takes from its process, so that tests can replace it.
struct Environment {
  Console& console;
  CancelToken& cancel;
  std::function<int()> signal;  ///< the signal that stopped the run, 0: none
  std::function<std::unique_ptr<Platforms>(Platforms::Options)> make_platforms;
  GetEnvironment getenv;
  /// Changes a variable of this process; may be empty.
  std::function<void(const char* name, const std::string& value)> setenv = {};
  /// Takes what only the end of the process shall release, such as device memory, which the system
  /// frees sooner than the driver does; empty: it is released at once.
  std::function<void(std::shared_ptr<void>)> keep = {};
  std::filesystem::path system_root = "/";
  std::string program = "";  ///< path of this program for child commands; empty: run in process
  /// A thread hangs in a driver, or ends while a vendor's library is unloaded: the process must end
  /// without destructors, which would wait for it.
  bool has_left_threads = false;
  bool has_heartbeat = false;  ///< runs that show nothing for long give a sign of life
  /// Devices that this run has opened, for its documents.
  std::vector<std::pair<std::string, report::DeviceTexts>> devices = {};
  std::chrono::system_clock::time_point started_at = std::chrono::system_clock::now();

  /// Since started_at.
  double elapsed_s() const {
    const std::chrono::duration<double> elapsed = std::chrono::system_clock::now() - started_at;
    return std::max(0.0, elapsed.count());
  }
};

}  // namespace hiptool::cli
