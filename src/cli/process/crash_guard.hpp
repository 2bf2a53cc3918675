// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hip/binding.hpp"

namespace hiptool::cli {

/// A crash during the start of a platform.
struct Crash {
  Platform platform = Platform::cpu;
  int signal = 0;
  std::string library;  ///< being started; empty if unknown
  std::string message;  ///< of a failed assertion; usually empty
};

/// One crash per line, "amd:6:/opt/rocm/lib/libamdhip64.so.7", and after a tab the message of a
/// failed assertion. Other lines are skipped.
std::vector<Crash> parse_crashes(const std::string& text);

/// The status of a platform that crashed. `override_hint` is what to do first, if anything.
PlatformStatus status_of(const Crash& crash, const std::string& override_hint = {});

/// For the program only, never for the library: reports a vendor library that crashes during its
/// initialisation as an unusable platform.
///
/// While a library starts, a handler of crash signals replaces this process by a new one with the
/// same arguments (execve is async-signal-safe). The new process learns about the crash from an
/// environment variable and skips that platform. Trying each driver in a second process first would
/// start it twice, 0.2 s each.
class CrashGuard final : public hip::Binder {
 public:
  /// `arguments`: of main(). Reads earlier crashes from the environment.
  CrashGuard(std::shared_ptr<hip::Binder> inner, char** arguments);
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override;

 private:
  std::shared_ptr<hip::Binder> inner_;
  char** arguments_;
  std::string text_;                      // the crashes so far, for the next process
  std::vector<std::string> environment_;  // of the process, before the command changed it
  std::vector<Crash> crashes_;
};

}  // namespace hiptool::cli
