// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "hiptool/error.hpp"
#include "kernels/compile.hpp"

namespace hiptool::kernels {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A folder for the files that go to the child and come back.
class WorkFolder {
 public:
  WorkFolder() {
    std::string pattern = (fs::temp_directory_path() / "hiptool-compile-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorCode::output_failed, "compile kernel", pattern + ": " + strerror(errno));
    }
    path_ = pattern;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The output of the child goes to a file: nothing of it may reach this program's.
pid_t spawn(const std::vector<std::string>& words, const std::string& log_path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_path.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(ErrorCode::device, "compile kernel",
                "the compiler's process " + words.front() + " does not start: " + strerror(error));
  }
  return child;
}

/// Its wait status, or nothing when it took too long and was killed.
std::optional<int> wait_for(pid_t child, std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

std::vector<std::byte> compile_with(const fs::path& program, std::chrono::milliseconds timeout,
                                    const CompileRequest& request) {
  const WorkFolder folder;
  const std::string source = folder.file("kernel.hip");
  const std::string out = folder.file("image");
  const std::string log = folder.file("log");
  std::ofstream(source, std::ios::binary) << request.source;
  const pid_t child = spawn(
      {program.string(), "compile-kernel", source, "--target", request.arch, "--out", out}, log);
  const std::optional<int> status = wait_for(child, timeout);
  const std::string subject =
      "the process that compiles '" + request.name + "' for " + request.arch + " ";
  if (!status) {
    throw Error(ErrorCode::timed_out, "compile kernel",
                subject + "was ended after " + std::to_string(timeout.count()) + " ms");
  }
  const std::string image = read_text(out);
  if (*status != 0 || image.empty()) {
    std::string message = subject + describe_end(*status);
    if (const std::string said = read_text(log); !said.empty()) message += "\n" + said;
    while (message.back() == '\n') message.pop_back();
    throw Error(ErrorCode::device, "compile kernel", std::move(message));
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
  return {bytes, bytes + image.size()};
}

}  // namespace

Compile compile_in_child(fs::path program, std::chrono::milliseconds timeout) {
  return [program = std::move(program), timeout](const CompileRequest& request) {
    return compile_with(program, timeout, request);
  };
}

}  // namespace hiptool::kernels
