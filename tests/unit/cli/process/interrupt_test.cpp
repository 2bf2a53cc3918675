// SPDX-License-Identifier: MIT
#include "cli/process/interrupt.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/temporary_folder.hpp"
#include "cases.hpp"
#include "cli/output/screen_terminal.hpp"
#include "harness.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::cli;

namespace {

struct Child {
  int status = 0;
  std::string err;
};

// Signals are tried in a process of their own.
Child run_child(const std::function<int()>& work) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);  // a child under the thread sanitizer writes what its copy of stdout holds
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGHUP, SIG_DFL);
    ::_exit(work());
  }
  ::close(ends[1]);
  Child child;
  char part[256];
  for (ssize_t count = 0; (count = ::read(ends[0], part, sizeof part)) > 0;) {
    child.err.append(part, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  REQUIRE(::waitpid(process, &child.status, 0) == process);
  return child;
}

}  // namespace

TEST_CASE("the first signal cancels and says so") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const Child child = run_child([number] {
      CancelToken token;
      const InterruptHandler handler(token);
      if (handler.signal() != 0 || token.is_cancelled()) return 1;
      ::raise(number);
      return handler.signal() == number && token.is_cancelled() ? 0 : 2;
    });
    REQUIRE(WIFEXITED(child.status));
    CHECK(WEXITSTATUS(child.status) == 0);
    CHECK(child.err == "interrupted, stopping; a second signal quits at once\n");
  }
}

TEST_CASE("the second signal ends the process with its own code") {
  const Child child = run_child([] {
    CancelToken token;
    const InterruptHandler handler(token);
    ::raise(SIGINT);
    for (;;) ::raise(SIGTERM);  // those within 50 ms of the first are taken for the same one
    return 1;
  });
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 143);
}

TEST_CASE("the second signal leaves no temporary folder") {
  const test::TemporaryFolder parent;
  const Child child = run_child([&] {
    ::setenv("TMPDIR", parent.path().c_str(), 1);
    CancelToken token;
    const InterruptHandler handler(token);
    const base::TemporaryFolder folder("name");
    std::ofstream(folder.path() / "file") << "text";
    ::raise(SIGTERM);
    if (std::filesystem::is_empty(parent.path())) return 1;
    for (;;) ::raise(SIGTERM);
    return 2;
  });
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 143);
  CHECK(std::filesystem::is_empty(parent.path()));
}

TEST_CASE("the second signal restores a terminal that shows a screen") {
  const int leader = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (leader < 0 || ::grantpt(leader) != 0 || ::unlockpt(leader) != 0) {
    if (leader >= 0) ::close(leader);
    test::skip_case("no pseudo-terminal available");
    return;
  }
  const int terminal = ::open(::ptsname(leader), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  termios before{};
  REQUIRE(::tcgetattr(terminal, &before) == 0);
  const Child child = run_child([terminal] {
    ::dup2(terminal, STDIN_FILENO);
    ::dup2(terminal, STDOUT_FILENO);
    CancelToken token;
    const InterruptHandler handler(token);
    const ScreenTerminal screen;
    ::raise(SIGINT);
    termios modes{};
    if (::tcgetattr(terminal, &modes) != 0 || (modes.c_lflag & ICANON) != 0) return 1;
    for (;;) ::raise(SIGTERM);
    return 2;
  });
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 143);
  termios after{};
  REQUIRE(::tcgetattr(terminal, &after) == 0);
  CHECK(after.c_lflag == before.c_lflag);
  ::close(terminal);  // then the leader's reads end after the last byte
  std::string text;
  char shown[256];
  for (ssize_t size = 0; (size = ::read(leader, shown, sizeof shown)) > 0;) {
    text.append(shown, static_cast<std::size_t>(size));
  }
  ::close(leader);
  CHECK(text.ends_with("\x1b[?25h\x1b[?1049l"));
}

TEST_CASE("signals that arrive together are one") {
  const Child child = run_child([] {
    CancelToken token;
    const InterruptHandler handler(token);
    ::raise(SIGTERM);
    ::raise(SIGTERM);
    ::raise(SIGHUP);
    return handler.signal() == SIGTERM && token.is_cancelled() ? 0 : 2;
  });
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 0);
  CHECK(child.err == "interrupted, stopping; a second signal quits at once\n");
}

TEST_CASE("a signal ignored from the start stays ignored; the old handling comes back") {
  const Child child = run_child([] {
    CancelToken token;
    std::signal(SIGINT, SIG_IGN);
    {
      const InterruptHandler handler(token);
      ::raise(SIGINT);
      if (token.is_cancelled()) return 1;
    }
    struct sigaction action {};
    ::sigaction(SIGTERM, nullptr, &action);
    return action.sa_handler == SIG_DFL ? 0 : 2;
  });
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 0);
  CHECK(child.err.empty());
}
