// SPDX-License-Identifier: MIT
#include "cli/process/crash_guard.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/dynamic_library.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "cli/process/interrupt.hpp"
#include "hip/amd/no_device.hpp"

namespace hiptool::cli {
namespace {

constexpr const char* crash_variable = "HIPTOOL_CRASHED";
constexpr std::array crash_signals{SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
constexpr std::size_t most_restart_bytes = 2 * 4096;  // two paths

/// glibc keeps the message of a failed assertion for debuggers, as __abort_msg.
struct AbortMessage {
  unsigned bytes;
  char text[1];
};

/// Data of the signal handler, prepared in advance because the heap may be damaged by then.
struct Restart {
  pid_t process = 0;
  char** arguments = nullptr;
  std::vector<char*> environment;
  std::array<char, most_restart_bytes> text{};  // "HIPTOOL_CRASHED=...amd:06:/path"
  char* signal_digits = nullptr;                // two places in it
  std::size_t text_bytes = 0;                   // of it, without the last line end
  const AbortMessage* const* message = nullptr;
  sigset_t mask{};
};

Restart& restart() {
  static Restart& instance = *new Restart;
  return instance;
}

/// Adds the message of a failed assertion to the line of the crash, as far as it fits.
void add_message(Restart& next) {
  if (next.message == nullptr || *next.message == nullptr) return;
  const char* from = (*next.message)->text;
  std::size_t at = next.text_bytes;
  next.text[at++] = '\t';
  for (; *from != '\0' && at + 2 < next.text.size(); ++from) {
    next.text[at++] = *from == '\n' || *from == '\t' ? ' ' : *from;
  }
  next.text[at] = '\n';
  next.text[at + 1] = '\0';
}

extern "C" void on_crash(int number) {
  Restart& next = restart();
  // A child process of the library must not become a second hiptool.
  if (::getpid() != next.process) {
    ::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
  base::remove_temporary_paths();  // no destructor runs
  // After Ctrl-C the run must not start again.
  if (const int sent = InterruptHandler::signal(); sent != 0) ::_exit(128 + sent);
  next.signal_digits[0] = static_cast<char>('0' + number / 10 % 10);
  next.signal_digits[1] = static_cast<char>('0' + number % 10);
  if (number == SIGABRT) add_message(next);
  // The signal is blocked in its handler, and execve would pass that on.
  ::sigprocmask(SIG_SETMASK, &next.mask, nullptr);
  ::execve("/proc/self/exe", next.arguments, next.environment.data());
  ::signal(number, SIG_DFL);
  ::raise(number);
}

/// Prepares the variable for a crash of this library; false if it does not fit.
bool prepare_text(const std::string& before, Platform platform, const std::string& library) {
  Restart& next = restart();
  const std::string start =
      std::string(crash_variable) + "=" + before + std::string(to_string(platform)) + ":";
  const std::string text = start + "00:" + library + "\n";
  if (text.size() + 2 >= next.text.size()) return false;
  std::memcpy(next.text.data(), text.c_str(), text.size() + 1);
  next.signal_digits = next.text.data() + start.size();
  next.text_bytes = text.size() - 1;
  return true;
}

class CrashHandler {
 public:
  CrashHandler() {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &restart().mask);
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < crash_signals.size(); ++i) {
      ::sigaction(crash_signals[i], &action, &old_actions_[i]);
    }
  }
  ~CrashHandler() {
    for (std::size_t i = 0; i < crash_signals.size(); ++i) {
      ::sigaction(crash_signals[i], &old_actions_[i], nullptr);
    }
  }
  CrashHandler(const CrashHandler&) = delete;
  CrashHandler& operator=(const CrashHandler&) = delete;

 private:
  std::array<struct sigaction, crash_signals.size()> old_actions_{};
};

std::optional<Crash> parse_crash(std::string_view line) {
  const auto first = line.find(':');
  const auto second = line.find(':', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) return {};
  Crash crash;
  const std::string_view name = line.substr(0, first);
  crash.signal = base::parse_number<int>(line.substr(first + 1, second - first - 1)).value_or(0);
  if (crash.signal <= 0) return {};
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    if (name != to_string(platform)) continue;
    crash.platform = platform;
    const std::string_view rest = line.substr(second + 1);
    const std::size_t tab = std::min(rest.find('\t'), rest.size());
    crash.library = rest.substr(0, tab);
    if (tab < rest.size()) crash.message = rest.substr(tab + 1);
    return crash;
  }
  return {};
}

}  // namespace

std::vector<Crash> parse_crashes(const std::string& text) {
  std::vector<Crash> crashes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (auto crash = parse_crash(line)) crashes.push_back(std::move(*crash));
  }
  return crashes;
}

PlatformStatus status_of(const Crash& crash, const std::string& override_hint) {
  const bool is_amd = crash.platform == Platform::amd;
  const std::string name = is_amd ? "the HIP runtime" : "the CUDA driver library";
  PlatformStatus status;
  status.platform = crash.platform;
  status.library = crash.library;
  status.reason = name + (crash.library.empty() ? "" : " " + crash.library) +
                  " crashed during initialisation: signal " + std::to_string(crash.signal) + " (" +
                  strsignal(crash.signal) + ")";
  if (!crash.message.empty()) {
    const std::size_t end = crash.message.find_last_not_of(' ');
    status.reason += ": " + crash.message.substr(0, end + 1);
  }
  status.hint = std::string(
                    "run `hiptool devices --doctor` to examine the driver; to use another library "
                    "set ") +
                (is_amd ? "HIPTOOL_HIP_LIBRARY" : "HIPTOOL_CUDA_LIBRARY");
  if (!override_hint.empty()) status.hint = override_hint;
  return status;
}

CrashGuard::CrashGuard(std::shared_ptr<hip::Binder> inner, char** arguments)
    : inner_(std::move(inner)), arguments_(arguments) {
  if (const char* const text = std::getenv(crash_variable); text != nullptr) {
    text_ = text;
    crashes_ = parse_crashes(text_);
    ::unsetenv(crash_variable);  // child processes must not inherit it
  }
  for (char** entry = environ; *entry != nullptr; ++entry) environment_.emplace_back(*entry);
}

hip::Binding CrashGuard::bind(Platform platform, const hip::BindRequest& request) {
  for (const Crash& crash : crashes_) {
    if (crash.platform != platform) continue;
    const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
    const bool is_amd = platform == Platform::amd;
    return {status_of(crash, is_amd ? hip::amd::hint_of_override(variable) : ""), nullptr};
  }
  if (platform == Platform::cpu) return inner_->bind(platform, request);
  // The handler supports one start at a time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Restart& next = restart();
  next.process = ::getpid();
  if (const auto libc = base::DynamicLibrary::find_loaded("libc.so.6")) {
    next.message = static_cast<const AbortMessage* const*>(libc->symbol("__abort_msg"));
  }
  next.arguments = arguments_;
  next.environment.clear();
  for (std::string& entry : environment_) next.environment.push_back(entry.data());
  next.environment.push_back(next.text.data());
  next.environment.push_back(nullptr);
  if (!prepare_text(text_, platform, "")) return inner_->bind(platform, request);
  hip::BindRequest observed = request;
  observed.before_start = [this, platform](const std::string& library) {
    static_cast<void>(prepare_text(text_, platform, library));
  };
  const CrashHandler handler;
  return inner_->bind(platform, observed);
}

}  // namespace hiptool::cli
