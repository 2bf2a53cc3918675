// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "cli/output/console.hpp"

namespace hiptool::cli {

/// The sign of life of long work on standard error: on a terminal a line that is overwritten once a
/// second and cleared at the end; otherwise a line each minute; nothing if quiet.
class Ticker {
 public:
  using Clock = std::chrono::steady_clock;

  Ticker(Console& console, bool quiet, std::function<Clock::time_point()> now = Clock::now);
  /// Clears the line.
  ~Ticker() { clear(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// To be called often; `line` is called only for a line that is due.
  void tell(const std::function<std::string()>& line);
  /// Makes room for other lines.
  void clear();

 private:
  Console& console_;
  bool is_quiet_;
  std::function<Clock::time_point()> now_;
  Clock::time_point told_at_;
  bool is_drawn_ = false;
};

}  // namespace hiptool::cli
