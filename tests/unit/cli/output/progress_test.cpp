// SPDX-License-Identifier: MIT
#include "cli/output/progress.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

constexpr std::uint64_t mib = 1u << 20;

struct Screen {
  explicit Screen(bool terminal) { err.terminal = terminal; }
  CaptureStream out;
  CaptureStream err;
  Console console{out, err, reader_of({{"TERM", "xterm"}})};
  Progress::Clock::time_point time{};
  std::function<Progress::Clock::time_point()> clock() {
    return [this] { return time; };
  }
};

}  // namespace

TEST_CASE("a bar has share, size, rate and time left, and fits the width") {
  const std::string bar = progress_bar("load", 512 * mib, 1024 * mib, 0.5, 80, false);
  CHECK(contains(bar, "load  [###############---------------]"));
  CHECK(contains(bar, "50 %  512 MiB  1.07 GB/s  1 s left"));
  for (const std::size_t width : {10u, 40u, 60u, 79u}) {
    CHECK(progress_bar("load", 512 * mib, 1024 * mib, 0.5, width, false).size() <= width);
  }
  CHECK(contains(progress_bar("load", mib, 2 * mib, 100, 80, true), "█"));
  CHECK(contains(progress_bar("load", mib, 101 * mib, 1, 80, false), "1:40 min left"));
  CHECK(contains(progress_bar("load", mib, 7201 * mib, 1, 80, false), "2:00 h left"));
  CHECK(contains(progress_bar("load", 0, 0, 0, 80, false), "0 %  0 B"));
  CHECK(contains(progress_bar("load", 3, 2, 1, 80, false), "100 %"));
}

TEST_CASE("on a terminal the bar is drawn at most ten times a second and vanishes") {
  Screen screen(true);
  {
    Progress progress(screen.console, false, screen.clock());
    progress.begin("load");
    for (int i = 1; i <= 1000; ++i) {
      screen.time += std::chrono::milliseconds(1);
      progress.on_progress(static_cast<std::uint64_t>(i) * mib, 1000 * mib);
    }
    CHECK(screen.err.writes == 10);
    CHECK(contains(screen.err.text, "100 %"));
    progress.end();
  }
  CHECK(screen.err.writes == 11);
  const std::string clear = "\r\x1b[K";
  CHECK(screen.err.text.substr(screen.err.text.size() - clear.size()) == clear);
  CHECK(screen.out.text.empty());
}

TEST_CASE("a step that fails leaves no bar behind") {
  Screen screen(true);
  {
    Progress progress(screen.console, false, screen.clock());
    progress.begin("load");
    screen.time += std::chrono::seconds(1);
    progress.on_progress(mib, 2 * mib);
    CHECK(screen.err.writes == 1);
  }
  CHECK(screen.err.writes == 2);
}

TEST_CASE("off a terminal one line for each finished step") {
  Screen screen(false);
  Progress progress(screen.console, false, screen.clock());
  progress.begin("load");
  screen.time += std::chrono::milliseconds(500);
  progress.on_progress(100 * mib, 100 * mib);
  CHECK(screen.err.text.empty());
  progress.end();
  progress.begin("plan");
  screen.time += std::chrono::milliseconds(20);
  progress.end();
  progress.end();
  CHECK(screen.err.text == "load: 100 MiB in 500 ms, 210 MB/s\nplan: done in 20.0 ms\n");
}

TEST_CASE("quiet says nothing on either") {
  for (const bool terminal : {false, true}) {
    Screen screen(terminal);
    Progress progress(screen.console, true, screen.clock());
    progress.begin("load");
    screen.time += std::chrono::seconds(1);
    progress.on_progress(mib, mib);
    progress.end();
    CHECK(screen.err.text.empty());
  }
}

TEST_CASE("many threads may report; an older number does not turn the bar back") {
  Screen screen(false);
  Progress progress(screen.console, false);
  progress.begin("load");
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&progress, t] {
      for (std::uint64_t i = 0; i < 1000; ++i) progress.on_progress(t * 1000 + i, 4000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  progress.end();
  CHECK(contains(screen.err.text, "load: 3.91 KiB in "));
}
