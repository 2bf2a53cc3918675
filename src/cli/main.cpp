// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cli/app.hpp"
#include "cli/interrupt.hpp"

int main(int argc, char** argv) {
  using namespace hiptool;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an answer of write, not the end
  const cli::GetEnvironment getenv = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  cli::DescriptorStream out(STDOUT_FILENO);
  cli::DescriptorStream err(STDERR_FILENO);
  cli::Console console(out, err, getenv);
  CancelToken cancel;
  const cli::InterruptHandler interrupt(cancel);
  cli::Environment environment{
      console, cancel, [&interrupt] { return interrupt.signal(); },
      [](Platforms::Options options) { return std::make_unique<Platforms>(std::move(options)); },
      getenv};
  environment.program = "/proc/self/exe";
  const int exit_code = cli::run(argc, argv, environment);
  // A kernel that never ends may still run; the end of its platform would wait for it.
  if (interrupt.signal() != 0) ::_exit(exit_code);
  return exit_code;
}
