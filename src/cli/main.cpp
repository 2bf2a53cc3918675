// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/temporary_folder.hpp"
#include "cli/app.hpp"
#include "cli/commands/child_commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/process/crash_guard.hpp"
#include "cli/process/interrupt.hpp"
#include "core/platform_state.hpp"

namespace {

// Otherwise a file that is opened later could get the descriptor of a closed standard stream, and
// messages would be written into it.
void open_standard_streams() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

// The library reads some of its variables itself.
void unset_empty_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("HIPTOOL_") && text.find('=') == text.size() - 1) {
      names.emplace_back(text.substr(0, text.size() - 1));
    }
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

int run_program(int argc, char** argv) {
  using namespace hiptool;
  // write() reports a closed pipe (EPIPE) and a file at its size limit (EFBIG) instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Some daemons start jobs with SIGCHLD ignored, which would discard exit codes of children.
  std::signal(SIGCHLD, SIG_DFL);
  const cli::GetEnvironment getenv = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  cli::DescriptorStream out(STDOUT_FILENO);
  cli::DescriptorStream err(STDERR_FILENO);
  cli::Console console(out, err, getenv);
  CancelToken cancel;
  const cli::InterruptHandler interrupt(cancel);
  std::shared_ptr<hip::Binder> binder = hip::make_registry();
  // The doctor reports a crash of this child, so the child must not catch it.
  if (!cli::is_probe_platform(argc, argv)) {
    binder = std::make_shared<cli::CrashGuard>(std::move(binder), argv);
  }
  cli::Environment environment{
      console,
      cancel,
      [&interrupt] { return interrupt.signal(); },
      [&binder](Platforms::Options options) {
        return std::make_unique<Platforms>(core::make_platforms(std::move(options), binder));
      },
      getenv,
      [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); },
      [](std::shared_ptr<void> object) {
        static auto& kept = *new std::vector<std::shared_ptr<void>>;  // never destroyed
        kept.push_back(std::move(object));
      }};
  environment.program = "/proc/self/exe";
  environment.has_heartbeat = true;
  const int exit_code = cli::run(argc, argv, environment);
  // Destroying the platform would wait for a kernel that may never end.
  if (interrupt.signal() != 0 || environment.has_left_threads) ::_exit(exit_code);
  return exit_code;
}

constexpr std::string_view memory_message =
    "error: out of host memory\nhint: close other programs or use a machine with more memory\n";

int report_no_memory() noexcept {
  static_cast<void>(!::write(STDERR_FILENO, memory_message.data(), memory_message.size()));
  return hiptool::cli::exit_code_of(hiptool::ErrorCode::host_out_of_memory);
}

// Nothing else reports what constructors throw before main(): libraries' headers have some that
// take memory.
[[noreturn]] void end_unhandled() noexcept {
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    hiptool::base::remove_temporary_paths();
    ::_exit(report_no_memory());
  } catch (...) {
  }
  std::abort();
}

// 101 is the first priority that is left to programs.
__attribute__((constructor(101))) void install_end_unhandled() {
  std::set_terminate(end_unhandled);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  try {
    unset_empty_variables();
    return run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    return report_no_memory();
  }
}
