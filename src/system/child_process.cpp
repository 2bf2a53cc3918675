// SPDX-License-Identifier: MIT
#include "system/child_process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "hiptool/error.hpp"

namespace hiptool::system {
namespace {

#ifndef CLOSE_RANGE_CLOEXEC
constexpr unsigned CLOSE_RANGE_CLOEXEC = 1u << 2;
#endif

/// What the child needs, complete before it exists: it shares this process's memory until exec.
struct ChildStart {
  char* const* words;
  char* const* environment;
  int input;
  int output;
  int lifeline;  ///< its other end closes when this process ends, whatever it dies of
  int failure;   ///< pipe for the errno of a failed exec
  rlim_t memory_bytes;
  rlim_t cpu_s;
  pid_t parent;
};

class OwnedDescriptor {
 public:
  /// Above the standard streams, whose numbers may be free here.
  explicit OwnedDescriptor(int descriptor) : value_(descriptor) {
    constexpr int first_number = 4;
    if (value_ < 0 || value_ >= first_number) return;
    value_ = fcntl(descriptor, F_DUPFD_CLOEXEC, first_number);
    ::close(descriptor);
  }
  ~OwnedDescriptor() { close(); }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;

  int get() const { return value_; }
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }

 private:
  int value_;
};

void limit(int resource, rlim_t value) {
  rlimit current{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &current) != 0) return;
  current.rlim_max = std::min(current.rlim_max, value);
  current.rlim_cur = std::min(current.rlim_cur, value);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &current);
}

constexpr int lifeline_number = STDERR_FILENO + 1;

// A compiler's own children get no signal when its parent dies. The shell leaves a process in their
// group that kills all of them then, and becomes the compiler.
constexpr const char* shell = "/bin/sh";
constexpr const char* shell_script = R"({ read -r end <&3; kill -9 0; } & exec "$@" 3<&-)";

void close_others_at_exec() {
  constexpr unsigned first = lifeline_number + 1;
  if (syscall(SYS_close_range, first, ~0u, CLOSE_RANGE_CLOEXEC) == 0) return;
  constexpr rlim_t most = 65536;  // before Linux 5.11, where each costs a call
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  for (rlim_t file = first; file < std::min(files.rlim_cur, most); ++file) {
    fcntl(static_cast<int>(file), F_SETFD, FD_CLOEXEC);
  }
}

/// In the child, whose memory is the parent's: only system calls.
[[noreturn]] void become(const ChildStart& start) noexcept {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(127);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // RLIMIT_AS would count what GPU runtimes only reserve, which can be terabytes.
  if (start.memory_bytes > 0) limit(RLIMIT_DATA, start.memory_bytes);
  limit(RLIMIT_CPU, start.cpu_s);
  limit(RLIMIT_CORE, 0);
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.output, STDERR_FILENO);
  dup2(start.lifeline, lifeline_number);
  close_others_at_exec();
  execve(start.words[0], start.words, start.environment);
  const int reason = errno;
  static_cast<void>(!write(start.failure, &reason, sizeof(reason)));
  _exit(127);
}

// Signals stay blocked around it: a handler that runs in the child would change the parent's
// memory.
pid_t spawn_blocked(const ChildStart& start) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // fork() would make this process's pages copy-on-write: on kernels before 5.12 a page that a
  // driver has pinned then moves away from under the device.
  const pid_t child = vfork();    // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (child == 0) become(start);  // NOLINT(clang-analyzer-unix.Vfork): only system calls
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return child;
}

std::vector<std::string> child_environment(const std::string& temporary_folder) {
  constexpr std::string_view name = "TMPDIR=";
  std::vector<std::string> variables;
  for (char* const* one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with(name)) variables.emplace_back(*one);
  }
  variables.push_back(std::string(name) + temporary_folder);
  return variables;
}

std::vector<char*> addresses(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void fail_to_start(const std::string& program, int number) {
  throw Error(ErrorCode::device, "compile kernel",
              "the compiler's process " + program + " does not start: " + strerror(number));
}

/// The limit of wall time ends a compiler; this longer one ends processes that outlive it.
rlim_t cpu_limit_s(const ChildLimits& limits) {
  if (!limits.has_cpu_limit) return RLIM_INFINITY;
  constexpr std::chrono::seconds more{10};
  return static_cast<rlim_t>(
      std::chrono::duration_cast<std::chrono::seconds>(limits.time + more).count());
}

/// Starts words[0], a path, as leader of a new process group: input from /dev/null, output to the
/// file `log`, TMPDIR as given, all other files of this process closed, signals at their defaults,
/// the limits set. It is killed when the calling thread ends first; where there is a shell, all
/// that it started is killed with it when the other end of `lifeline` closes. Throws Error(device)
/// with the reason when it does not start.
pid_t start_child(const std::vector<std::string>& words, const std::string& log,
                  const std::string& temporary_folder, const ChildLimits& limits, int lifeline) {
  const std::vector<std::string> environment = child_environment(temporary_folder);
  std::vector<std::string> guarded{shell, "-c", shell_script, shell};
  const bool has_shell = access(shell, X_OK) == 0 && access(words.front().c_str(), X_OK) == 0;
  if (!has_shell) guarded.clear();
  const auto program = guarded.insert(guarded.end(), words.begin(), words.end());
  // To the shell that would be the shell.
  if (*program == "/proc/self/exe") *program = "/proc/" + std::to_string(getpid()) + "/exe";
  const std::vector<char*> word_list = addresses(guarded);
  const std::vector<char*> variable_list = addresses(environment);
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start(words.front(), errno);
  const OwnedDescriptor reading(ends[0]);
  OwnedDescriptor writing(ends[1]);
  const OwnedDescriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const OwnedDescriptor output(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (input.get() < 0 || output.get() < 0) fail_to_start(words.front(), errno);
  const pid_t child =
      spawn_blocked({word_list.data(), variable_list.data(), input.get(), output.get(), lifeline,
                     writing.get(), limits.memory_bytes, cpu_limit_s(limits), getpid()});
  if (child < 0) fail_to_start(words.front(), errno);
  writing.close();
  int reason = 0;
  ssize_t got = 0;
  while ((got = read(reading.get(), &reason, sizeof(reason))) < 0 && errno == EINTR) {
  }
  if (got == 0) return child;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  fail_to_start(words.front(), reason);
}

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
  std::ostringstream text;
  text << file.rdbuf();  // unlike an iterator, it throws nothing at a read that fails
  return std::move(text).str();
}

ChildRun run_child(const std::vector<std::string>& words, const WorkFolder& folder,
                   const ChildLimits& limits, const CancelToken* cancel) {
  const std::string log = folder.file("log");
  const Clock::time_point end = Clock::now() + limits.time;
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start(words.front(), errno);
  const OwnedDescriptor lifeline(ends[0]);
  const OwnedDescriptor held(ends[1]);
  ProcessGroup group(start_child(words, log, folder.file(""), limits, lifeline.get()));
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

}  // namespace hiptool::system
