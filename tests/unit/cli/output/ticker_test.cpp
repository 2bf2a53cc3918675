// SPDX-License-Identifier: MIT
#include "cli/output/ticker.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cli/commands/check/progress.hpp"
#include "harness.hpp"
#include "hiptool/cancel.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

struct TickerScreen {
  explicit TickerScreen(bool terminal) { err.terminal = terminal; }
  CaptureStream out;
  CaptureStream err;
  Console console{out, err, reader_of({{"TERM", "xterm"}})};
  Ticker::Clock::time_point time{};
};

/// What an hour of looks, one each 100 ms, writes.
std::size_t lines_of(TickerScreen& screen, bool is_quiet) {
  Ticker ticker(screen.console, is_quiet, [&screen] { return screen.time; });
  for (int i = 0; i < 36000; ++i) {
    screen.time += std::chrono::milliseconds(100);
    ticker.tell([] { return std::string("fma: 12 of 600 s"); });
  }
  return static_cast<std::size_t>(screen.err.writes);
}

accept::StageProgress progress_at(double elapsed_s) {
  return {"soak", elapsed_s, {{"nvidia:0", "12 of 600 s"}, {"nvidia:1", "13 of 600 s"}}};
}

}  // namespace

TEST_CASE("a ticker draws one line each second on a terminal and clears it at the end") {
  TickerScreen screen(true);
  CHECK(lines_of(screen, false) == 3600);
  const std::string clear = "\r\x1b[K";
  CHECK(screen.err.text.substr(screen.err.text.size() - clear.size()) == clear);
  CHECK(contains(screen.err.text, clear + "fma: 12 of 600 s" + clear));
  CHECK_FALSE(contains(screen.err.text, "\n"));
}

TEST_CASE("elsewhere a ticker writes one line each minute, and none if quiet") {
  TickerScreen pipe(false);
  CHECK(lines_of(pipe, false) == 60);
  CHECK(contains(pipe.err.text, "fma: 12 of 600 s\nfma: 12 of 600 s\n"));
  CHECK_FALSE(contains(pipe.err.text, "\x1b"));
  TickerScreen quiet(false);
  CHECK(lines_of(quiet, true) == 0);
}

TEST_CASE("a stage that takes long is one line each minute in a pipe, in each of its stages") {
  TickerScreen screen(false);
  const CancelToken cancel;
  CheckProgress progress(screen.console, false, cancel);
  progress.begin({"nvidia:0", "nvidia:1"}, {"soak"});
  for (int second = 1; second < 150; ++second) progress.on_progress(progress_at(second));
  CHECK(screen.err.text ==
        "soak, 1 min: nvidia:0 12 of 600 s; nvidia:1 13 of 600 s\n"
        "soak, 2 min: nvidia:0 12 of 600 s; nvidia:1 13 of 600 s\n");
  accept::StageProgress other = progress_at(61);
  other.stage = "memory";
  progress.on_progress(other);
  CHECK(contains(screen.err.text, "memory, 1 min: "));
}

TEST_CASE("on a terminal the lines of the devices say what they do") {
  TickerScreen screen(true);
  const CancelToken cancel;
  CheckProgress progress(screen.console, false, cancel);
  progress.begin({"nvidia:0", "nvidia:1"}, {"soak"});
  progress.on_progress(progress_at(1));
  CHECK(contains(screen.err.text, "nvidia:1  0 of 1 stage passed; now soak: 13 of 600 s\n"));
}
