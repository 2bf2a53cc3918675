// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "machine/doctor/probe.hpp"

namespace hiptool::machine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_pause{20};  // also the delay of a cancellation
constexpr std::chrono::milliseconds longest_end{300};

/// A process that queries one platform.
class Child {
 public:
  Child(const std::filesystem::path& program, Platform platform, const ProbeOptions& options)
      : root_(options.root) {
    result_.answer.status.platform = platform;
    start(program.string(), std::string(to_string(platform)), options.with_copies);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_running() const noexcept { return pipe_ >= 0; }
  int descriptor() const noexcept { return pipe_; }
  ProbeResult take() { return std::move(result_); }

  /// Reads the available records; the end of the pipe is the end of the child.
  void read() {
    std::array<char, 4096> part;
    ssize_t got = 0;
    while ((got = ::read(pipe_, part.data(), part.size())) > 0) {
      last_news_ = last_progress_ = Clock::now();
      for (const Record& record :
           reader_.add(std::string_view(part.data(), static_cast<std::size_t>(got)))) {
        apply(record, root_, result_);
        if (record.name == "status") result_.answer.after_s = base::seconds_since(started_);
      }
    }
    if (got == 0) finish();
  }

  void check_patience(const ProbePatience& patience) {
    if (!is_running()) return;
    const auto silent = Clock::now() - last_news_;
    if (!result_.loading.empty()) {
      if (silent >= patience.library) give_up_library();
      return;
    }
    if (Clock::now() - last_progress_ < patience.call) return;
    // A driver's own files may be on a slow disk, for which a call waits without being stuck.
    const std::uint64_t reads = patience.disk_reads ? patience.disk_reads(process_) : disk_reads();
    if (reads > disk_reads_ && silent < patience.library) {
      disk_reads_ = reads;
      last_progress_ = Clock::now();
      result_.answer.was_late = true;
      return;
    }
    result_.answer.kind = PlatformAnswer::Kind::hung;
    result_.answer.after_s = base::seconds_since(last_news_);
    if (result_.answer.status.reason.empty()) {
      result_.answer.status.reason = "the driver does not respond: it hangs";
      result_.answer.status.hint = "find the cause with `sudo dmesg | tail -n 50`";
    }
    end();
  }

 private:
  void give_up_library() {
    const double silent_s = base::seconds_since(last_news_);
    LibraryAnswer& library = result_.libraries.emplace_back();
    library.platform = result_.answer.status.platform;
    library.name = result_.loading;
    library.load_s = silent_s;
    library.was_given_up = true;
    end();
  }

  // Major page faults, of a library that is mapped, and bytes that were read from a disk.
  std::uint64_t disk_reads() const {
    const std::string folder = "/proc/" + std::to_string(process_);
    const std::string stat = base::read_small_file(folder + "/stat");
    std::uint64_t reads = 0;
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    std::string field;
    constexpr int place_of_major_faults = 10;  // after the name, proc(5)
    for (int i = 0; i < place_of_major_faults && fields >> field; ++i) {
    }
    reads += base::parse_number<std::uint64_t>(field).value_or(0);
    const std::string io = base::read_small_file(folder + "/io");
    constexpr std::string_view key = "read_bytes: ";
    const std::size_t at = io.find(key);
    if (at == std::string::npos) return reads;
    const std::string bytes = io.substr(at + key.size(), io.find('\n', at) - at - key.size());
    return reads + base::parse_number<std::uint64_t>(bytes).value_or(0);
  }

  void start(const std::string& program, const std::string& platform, bool with_copies) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(
          ErrorCode::host_failed, "probe",
          std::string("no pipe for the process that queries the driver: ") + strerror(errno),
          "raise the limit of open files with `ulimit -n`");
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string root = root_.string();
    std::string command = "probe-platform";
    std::string first = program;
    std::string second = platform;
    std::string brief = "brief";
    std::array<char*, 6> words{first.data(), command.data(), second.data(), root.data()};
    if (!with_copies) words[4] = brief.data();
    const int error =
        posix_spawn(&process_, program.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      ::close(ends[0]);
      process_ = -1;
      throw Error(ErrorCode::host_failed, "probe", program + " does not start: " + strerror(error),
                  "raise the limit of processes (`ulimit -u`; pids.max of a container or service)");
    }
    pipe_ = ends[0];
  }

  // The pipe is closed: the child has ended or is ending. One that hangs while it exits has
  // reported everything and is not a failure.
  void finish() {
    ::close(std::exchange(pipe_, -1));
    const std::optional<int> ended = wait_briefly();
    if (!ended) {
      end();
      return;
    }
    process_ = -1;
    const int status = *ended;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    PlatformAnswer& answer = result_.answer;
    const std::string step = answer.detail.empty() ? "" : ", while " + answer.detail;
    answer.kind = PlatformAnswer::Kind::crashed;
    answer.detail = WIFSIGNALED(status)
                        ? "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                              strsignal(WTERMSIG(status)) + ")" + step
                        : "ended with exit code " + std::to_string(WEXITSTATUS(status)) + step;
    if (answer.status.reason.empty()) answer.status.reason = "querying the driver " + answer.detail;
  }

  // A process that hangs inside the kernel is not waited for.
  void end() {
    if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    wait_briefly();
    process_ = -1;
  }

  std::optional<int> wait_briefly() const {
    const Clock::time_point end = Clock::now() + longest_end;
    int status = 0;
    while (waitpid(process_, &status, WNOHANG) == 0) {
      if (Clock::now() >= end) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status;
  }

  std::filesystem::path root_;
  ProbeResult result_;
  RecordReader reader_;
  pid_t process_ = -1;
  int pipe_ = -1;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_news_ = Clock::now();
  Clock::time_point last_progress_ = last_news_;  // news or a disk that was read
  std::uint64_t disk_reads_ = 0;
};

}  // namespace

ProbePatience ProbePatience::of_seconds(double seconds) {
  ProbePatience patience;
  patience.call = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  patience.library = std::max(patience.library, 2 * patience.call);
  return patience;
}

std::vector<ProbeResult> probe_in_children(const std::filesystem::path& program,
                                           const std::vector<Platform>& platforms,
                                           const ProbeOptions& options,
                                           const ProbePatience& patience,
                                           const CancelToken& cancel) {
  std::vector<std::unique_ptr<Child>> children;
  for (const Platform platform : platforms) {
    children.push_back(std::make_unique<Child>(program, platform, options));
  }
  for (;;) {
    cancel.throw_if_cancelled("devices");
    std::vector<pollfd> waiting;
    for (const auto& child : children) {
      if (child->is_running()) waiting.push_back({child->descriptor(), POLLIN, 0});
    }
    if (waiting.empty()) break;
    static_cast<void>(poll(waiting.data(), waiting.size(), static_cast<int>(poll_pause.count())));
    for (const auto& child : children) {
      if (child->is_running()) child->read();
      child->check_patience(patience);
    }
  }
  std::vector<ProbeResult> results;
  for (const auto& child : children) results.push_back(child->take());
  return results;
}

}  // namespace hiptool::machine
