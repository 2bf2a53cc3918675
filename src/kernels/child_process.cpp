// SPDX-License-Identifier: MIT
#include "kernels/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <thread>

#include "hiptool/error.hpp"
#include "kernels/child_start.hpp"

namespace hiptool::kernels {
namespace {

using Clock = std::chrono::steady_clock;

/// The process and all that it started; dead at the end of the object.
class ProcessGroup {
 public:
  explicit ProcessGroup(pid_t leader) : leader_(leader) {}
  ~ProcessGroup() { end(); }
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  bool is_leader_running() {
    siginfo_t ended{};
    // Not reaped yet, the leader keeps the group's number from being given to another group.
    const auto leader = static_cast<id_t>(leader_);
    if (waitid(P_PID, leader, &ended, WEXITED | WNOHANG | WNOWAIT) == 0) return ended.si_pid == 0;
    if (errno == EINTR) return true;
    leader_ = -1;  // reaped elsewhere, or SIGCHLD is ignored: the number may be another group's now
    return false;
  }

  /// The leader's status.
  int end() {
    if (leader_ <= 0) return status_;
    kill(-leader_, SIGKILL);
    while (waitpid(leader_, &status_, 0) < 0 && errno == EINTR) {
    }
    leader_ = -1;
    return status_;
  }

 private:
  pid_t leader_;
  int status_ = 0;  // stays so where it is lost: what was written decides then
};

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ChildRun run_child(const std::vector<std::string>& words, const WorkFolder& folder,
                   const ChildLimits& limits, const CancelToken* cancel) {
  const std::string log = folder.file("log");
  const Clock::time_point end = Clock::now() + limits.time;
  ProcessGroup group(start_child(words, log, folder.file(""), limits));
  bool is_late = false;
  while (group.is_leader_running() && !is_late) {
    if (cancel != nullptr && cancel->is_cancelled()) break;
    is_late = Clock::now() >= end;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const int status = group.end();
  if (cancel != nullptr) cancel->throw_if_cancelled("compile kernel");
  return {is_late ? std::nullopt : std::optional(status), read_text(log)};
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

bool is_out_of_memory(std::string_view output) {
  constexpr std::array messages{"out of memory", "memory exhausted", "Cannot allocate memory",
                                "bad_alloc", "Killed signal terminated program"};
  for (const char* message : messages) {
    if (output.find(message) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace hiptool::kernels
