// SPDX-License-Identifier: MIT
#include "cli/output/ticker.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "report/text.hpp"

namespace hiptool::cli {

Ticker::Ticker(Console& console, bool quiet, std::function<Clock::time_point()> now)
    : console_(console), is_quiet_(quiet), now_(std::move(now)), told_at_(now_()) {}

void Ticker::tell(const std::function<std::string()>& line) {
  if (is_quiet_) return;
  console_.postpone_beat();
  const bool is_terminal = console_.can_animate();
  const Clock::time_point now = now_();
  if (now - told_at_ < (is_terminal ? std::chrono::seconds(1) : std::chrono::seconds(60))) return;
  told_at_ = now;
  const std::string text = report::printable(line());
  if (!is_terminal) {
    console_.err(text + "\n");
    return;
  }
  // A line that fills all columns would take two on some terminals.
  const std::size_t width = std::max<std::size_t>(console_.width_err(), 2) - 1;
  console_.err("\r\x1b[K" + report::shorten(text, width));
  is_drawn_ = true;
}

void Ticker::clear() {
  if (is_drawn_) console_.err("\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace hiptool::cli
