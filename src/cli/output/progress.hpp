// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>

#include "cli/output/console.hpp"
#include "hiptool/load.hpp"

namespace hiptool::cli {

/// Progress of a long step: on a terminal a bar with rate and time left, cleared at the end;
/// otherwise one line per finished step; nothing with --quiet. Thread-safe; redraws at most ten
/// times per second.
class Progress final : public LoadObserver {
 public:
  using Clock = std::chrono::steady_clock;

  /// `prefix` begins the name of each step: "2/3 ".
  Progress(Console& console, bool quiet, std::function<Clock::time_point()> now = Clock::now,
           std::string prefix = {});
  /// Clears the bar of an unfinished step.
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts a step: "load", "verify".
  void begin(const std::string& step);
  /// A step for each phase of a load that passes over the model's bytes.
  void on_phase(std::string_view name) noexcept override;
  void on_phase_end() noexcept override { end(); }
  void on_waiting(std::span<const std::string> devices) noexcept override;
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override;
  /// The step is complete.
  void end();

 private:
  void show(const std::string& name);
  void show_detail();
  void draw();
  void clear();
  std::string finished_line() const;

  Console& console_;
  bool is_quiet_;
  std::function<Clock::time_point()> now_;
  std::string prefix_;
  std::mutex mutex_;
  std::string step_;     ///< empty between steps
  std::string shown_;    ///< the name of the step or phase
  std::string waiting_;  ///< "waiting for nvidia:3"; empty where no device is named
  Clock::time_point started_;
  Clock::time_point drawn_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool is_drawn_ = false;
};

/// The text of one bar, at most `width` columns: "load  [####----]  43 %  5.60 GiB  21.3 GB/s  12 s
/// left".
std::string progress_bar(const std::string& step, std::uint64_t done_bytes,
                         std::uint64_t total_bytes, double elapsed_s, std::size_t width,
                         bool unicode);

}  // namespace hiptool::cli
