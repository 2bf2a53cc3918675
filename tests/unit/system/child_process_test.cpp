// SPDX-License-Identifier: MIT
#include "system/child_process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::system;

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// At most a zombie is left: init reaps it when it finds the time.
bool dies(pid_t process) {
  const std::string stat = "/proc/" + std::to_string(process) + "/stat";
  return test::comes_true([&] {
    const std::string text = base::read_small_file(stat);
    const auto name_end = text.rfind(')');
    return name_end == std::string::npos || text[name_end + 2] == 'Z';
  });
}

}  // namespace

TEST_CASE("a child's process group ends with it, after a timeout, a cancel and a success") {
  const test::TemporaryFolder folder;
  const std::string mark = folder / "mark";
  const std::string start = "sleep 300 & echo $! > " + mark + ".new; mv " + mark + ".new " + mark;
  const auto take_started = [&] {
    const pid_t process = std::stoi(read_text(mark));
    fs::remove(mark);
    return process;
  };

  const WorkFolder work;
  // A slow machine may need more time until the script has started its process.
  for (auto time = 500ms; !fs::exists(mark); time *= 2) {
    REQUIRE(time < 60s);
    CHECK_FALSE(run_child({"/bin/sh", "-c", start + "; wait"}, work, {time}).status);
  }
  CHECK(dies(take_started()));

  CancelToken cancel;
  std::thread canceller([&] {
    test::comes_true([&] { return fs::exists(mark); });
    cancel.cancel();
  });
  const auto cancelled = test::code_of([&] {
    run_child({"/bin/sh", "-c", start + "; wait"}, work, {100s}, &cancel);
  });
  canceller.join();
  CHECK(cancelled == ErrorCode::cancelled);
  CHECK(dies(take_started()));

  CHECK(run_child({"/bin/sh", "-c", start}, work, {100s}).status == 0);
  CHECK(dies(take_started()));
}

TEST_CASE("a compiler's own processes end with this one, whatever it dies of") {
  const test::TemporaryFolder folder;
  const std::string mark = folder / "mark";
  const std::string script =
      "sleep 300 & echo $! > " + mark + ".new; mv " + mark + ".new " + mark + "; wait";
  const WorkFolder work;
  const pid_t owner = fork();
  if (owner == 0) {
    try {
      run_child({"/bin/sh", "-c", script}, work, {300s});
    } catch (...) {
    }
    _exit(0);
  }
  REQUIRE(owner > 0);
  while (!fs::exists(mark)) std::this_thread::sleep_for(1ms);
  const pid_t grandchild = std::stoi(read_text(mark));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  CHECK(dies(grandchild));
}

TEST_CASE("a child whose end nobody is told of did not fail for that") {
  const WorkFolder work;
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const ChildRun run = run_child({"/bin/sh", "-c", "echo done"}, work, {100s});
  std::signal(SIGCHLD, before);
  CHECK(run.status == 0);
  CHECK(run.output == "done\n");
}

TEST_CASE("what a child gets: limits, its own TMPDIR, no files, signals at their defaults") {
  const WorkFolder work;
  const auto output_of = [&](const std::string& script, ChildLimits limits) {
    const ChildRun run = run_child({"/bin/sh", "-c", script}, work, limits);
    CHECK(run.status == 0);
    return run.output;
  };
  CHECK(output_of("ulimit -d; ulimit -t; ulimit -c", {20s, 1u << 30}) == "1048576\n30\n0\n");
  CHECK(output_of("echo $TMPDIR", {20s}) == work.file("") + "\n");
  CHECK_FALSE(fs::equivalent(work.file(""), fs::temp_directory_path()));

  const int open_file = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  const std::string files = output_of("ls -l /proc/self/fd", {20s});
  ::close(open_file);
  CHECK(files.find(" " + std::to_string(open_file) + " -> /dev/null") == std::string::npos);

  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const std::string signals = output_of("grep -E 'SigIgn|SigBlk' /proc/self/status", {20s});
  std::signal(SIGPIPE, before);
  CHECK(signals == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("compilers that got no more memory are recognised") {
  CHECK(is_out_of_memory("cc1plus: out of memory allocating 65536 bytes after a total of 9"));
  CHECK(is_out_of_memory("c++: fatal error: Killed signal terminated program cc1plus"));
  CHECK(is_out_of_memory("LLVM ERROR: out of memory"));
  CHECK_FALSE(is_out_of_memory("k.cu:3:1: error: expected ';'"));
}

TEST_CASE("a text that cannot be read is empty") {
  const test::TemporaryFolder folder;
  CHECK(read_text(folder / "missing").empty());
  CHECK(read_text(folder / ".").empty());  // opens, and every read fails
}
