// SPDX-License-Identifier: MIT
#include "cli/output/console.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "harness.hpp"
#include "report/text.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

bool has_color(Variables variables, bool terminal, ColorMode mode = ColorMode::automatic) {
  CaptureStream out;
  CaptureStream err;
  out.terminal = terminal;
  Console console(out, err, reader_of(std::move(variables)));
  console.set_color_mode(mode);
  return console.has_color_out();
}

bool has_unicode(Variables variables) {
  CaptureStream out;
  CaptureStream err;
  return Console(out, err, reader_of(std::move(variables))).has_unicode();
}

std::size_t width(Variables variables, std::optional<std::size_t> terminal) {
  CaptureStream out;
  CaptureStream err;
  out.terminal = true;
  out.width = terminal;
  return Console(out, err, reader_of(std::move(variables))).width_out();
}

}  // namespace

TEST_CASE("colour: option, NO_COLOR, CLICOLOR_FORCE, terminal, in this order") {
  CHECK(has_color({{"TERM", "xterm"}}, true));
  CHECK_FALSE(has_color({{"TERM", "xterm"}}, false));
  CHECK_FALSE(has_color({{"TERM", "dumb"}}, true));
  CHECK_FALSE(has_color({}, true));
  CHECK_FALSE(has_color({{"TERM", "xterm"}, {"NO_COLOR", "1"}}, true));
  CHECK(has_color({{"TERM", "xterm"}, {"NO_COLOR", ""}}, true));
  CHECK(has_color({{"CLICOLOR_FORCE", "1"}}, false));
  CHECK_FALSE(has_color({{"CLICOLOR_FORCE", "0"}}, false));
  CHECK_FALSE(has_color({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}, true));
  CHECK(has_color({{"NO_COLOR", "1"}, {"TERM", "dumb"}}, false, ColorMode::always));
  CHECK_FALSE(has_color({{"CLICOLOR_FORCE", "1"}}, true, ColorMode::never));
}

TEST_CASE("colour is decided for each stream alone") {
  CaptureStream out;
  CaptureStream err;
  err.terminal = true;
  const Console console(out, err, reader_of({{"TERM", "xterm"}}));
  CHECK_FALSE(console.has_color_out());
  CHECK(console.has_color_err());
  CHECK(console.can_animate());
}

TEST_CASE("unicode only in a UTF-8 locale; the first variable that is set decides") {
  CHECK(has_unicode({{"LANG", "en_US.UTF-8"}}));
  CHECK(has_unicode({{"LC_CTYPE", "C.utf8"}}));
  CHECK_FALSE(has_unicode({}));
  CHECK_FALSE(has_unicode({{"LANG", "C"}}));
  CHECK_FALSE(has_unicode({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  CHECK(has_unicode({{"LC_ALL", ""}, {"LANG", "en_US.UTF-8"}}));
}

TEST_CASE("width: the terminal, 80 where it has none, and COLUMNS only narrows") {
  CHECK(width({}, {}) == 80);
  CHECK(width({}, 132) == 132);
  CHECK(width({{"COLUMNS", "40"}}, 132) == 40);
  CHECK(width({{"COLUMNS", "200"}}, 132) == 132);
  CHECK(width({{"COLUMNS", "200"}}, {}) == 80);
  for (const char* text : {"0", "-1", "wide", "", "80x"}) {
    CHECK(width({{"COLUMNS", text}}, 132) == 132);
  }
}

TEST_CASE("a pipe is as wide as what is written, unless COLUMNS narrows it") {
  CaptureStream pipe;
  CaptureStream err;
  CHECK(Console(pipe, err, reader_of({})).width_out() == 1'000'000);
  CHECK(Console(pipe, err, reader_of({})).width_err() == 1'000'000);
  CHECK(Console(pipe, err, reader_of({{"COLUMNS", "60"}})).width_out() == 60);
}

TEST_CASE("a closed pipe ends the output quietly and keeps the verdict's code") {
  CaptureStream out;
  CaptureStream err;
  out.error = EPIPE;
  Console console(out, err, reader_of({}));
  console.out("lost");
  out.error = 0;
  console.out("not written after that");
  CHECK(out.text.empty());
  CHECK(console.finish(5) == 5);
  CHECK(err.text.empty());
}

TEST_CASE("a full disk is an output that failed") {
  CaptureStream out;
  CaptureStream err;
  out.error = ENOSPC;
  Console console(out, err, reader_of({}));
  console.out("lost");
  CHECK(console.finish(0) == 7);
  CHECK(console.finish(1) == 7);
  CHECK(console.finish(5) == 5);  // wrong data comes first in the order of the help
  CHECK(contains(err.text, "error: cannot write to standard output: No space left on device\n"));
  CHECK(contains(err.text, "hint: "));
}

TEST_CASE("a descriptor whose reader is gone answers EPIPE") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  DescriptorStream stream(ends[1]);
  CHECK(stream.write("text") == EPIPE);
  CHECK_FALSE(stream.is_terminal());
  CHECK_FALSE(stream.columns());
  std::signal(SIGPIPE, old);
  ::close(ends[1]);
}

TEST_CASE("a descriptor on a full device answers ENOSPC") {
  const int full = ::open("/dev/full", O_WRONLY);
  REQUIRE(full >= 0);  // each Linux has it
  CHECK(DescriptorStream(full).write("text") == ENOSPC);
  ::close(full);
}

TEST_CASE("styles only where colour is on") {
  CHECK(styled("text", "1", false) == "text");
  CHECK(styled("text", "1", true) == "\x1b[1mtext\x1b[0m");
}

namespace {

struct BeatScreen {
  explicit BeatScreen(bool terminal) {
    out.terminal = terminal;
    err.terminal = terminal;
    console.set_step("hiptool prove");
  }
  /// Looks ten times a second; what was written.
  std::string after(std::chrono::milliseconds time) {
    err.text.clear();
    for (const auto end = now + time; now < end;) {
      now += std::chrono::milliseconds(100);
      static_cast<void>(console.beat());
    }
    return err.text;
  }

  Console::Clock::time_point now{};
  CaptureStream out;
  CaptureStream err;
  Console console{out, err, reader_of({{"TERM", "xterm"}}), [this] { return now; }};
};

const std::string clear_line = "\r\x1b[K";

}  // namespace

TEST_CASE("on a terminal a run that writes nothing is seen within two seconds, and each second") {
  using namespace std::chrono_literals;
  BeatScreen screen(true);
  CHECK(screen.after(1400ms).empty());
  CHECK(screen.after(200ms) == clear_line + "hiptool prove, 1 s");
  CHECK(screen.after(2000ms) ==
        clear_line + "hiptool prove, 2 s" + clear_line + "hiptool prove, 3 s");
  screen.console.set_step("prove", "43 %");
  CHECK(screen.after(1000ms) == clear_line + "prove, 43 %, 0 s");
  screen.console.set_step("prove", "44 %");  // the time is the step's
  CHECK(screen.after(70s).ends_with("prove, 44 %, 1:10 min"));
  screen.console.set_step({});
  CHECK(screen.after(1000ms) == clear_line + "hiptool prove, 0 s");
}

TEST_CASE("other text takes the place of the sign of life, which waits again") {
  using namespace std::chrono_literals;
  BeatScreen screen(true);
  screen.after(1600ms);
  screen.console.err("[1/2] done\n");
  CHECK(screen.err.text.ends_with(clear_line + "[1/2] done\n"));
  CHECK(screen.after(1400ms).empty());
  screen.console.postpone_beat();
  CHECK(screen.after(1400ms).empty());
  CHECK_FALSE(screen.after(200ms).empty());
  screen.console.out("result\n");
  CHECK(screen.err.text.ends_with(clear_line));
  CHECK_FALSE(screen.console.beat());
  CHECK(screen.after(100s).empty());
}

TEST_CASE("a sign of life fits the terminal, and elsewhere is a line a minute") {
  using namespace std::chrono_literals;
  BeatScreen narrow(true);
  narrow.err.width = 12;
  CHECK(narrow.after(1600ms).starts_with(clear_line + "hip"));
  CHECK(hiptool::report::display_width(narrow.err.text.substr(clear_line.size())) <= 11);
  BeatScreen pipe(false);
  CHECK(pipe.after(59900ms).empty());
  CHECK(pipe.after(130s) ==
        "hiptool prove, 1:00 min\nhiptool prove, 2:00 min\n"
        "hiptool prove, 3:00 min\n");
}

TEST_CASE("whole_time is short") {
  CHECK(whole_time(-1) == "0 s");
  CHECK(whole_time(59.9) == "59 s");
  CHECK(whole_time(65) == "1:05 min");
  CHECK(whole_time(7260) == "2:01 h");
}
