// SPDX-License-Identifier: MIT
#include "kernels/child_process.hpp"

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
#include <thread>

#include "hiptool/error.hpp"

namespace hiptool::kernels {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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

/// Its wait status, or nothing when it took too long or was cancelled, and was killed.
std::optional<int> wait_for(pid_t child, std::chrono::milliseconds timeout,
                            const CancelToken* cancel) {
  const Clock::time_point end = Clock::now() + timeout;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() >= end || (cancel != nullptr && cancel->is_cancelled())) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

}  // namespace

WorkFolder::WorkFolder() {
  std::string pattern = (fs::temp_directory_path() / "hiptool-compile-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Error(ErrorCode::output_failed, "compile kernel", pattern + ": " + strerror(errno));
  }
  path_ = pattern;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<int> run_child(const std::vector<std::string>& words, const std::string& log_path,
                             std::chrono::milliseconds timeout, const CancelToken* cancel) {
  const std::optional<int> status = wait_for(spawn(words, log_path), timeout, cancel);
  // A terminal sends its interrupt to the child too, which then ends by itself.
  if (cancel != nullptr) cancel->throw_if_cancelled("compile kernel");
  return status;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace hiptool::kernels
