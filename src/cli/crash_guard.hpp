// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hip/binding.hpp"

namespace hiptool::cli {

/// A start of a platform that ended the process.
struct Crash {
  Platform platform = Platform::cpu;
  int signal = 0;
  std::string library;  ///< that was starting; empty if none was named yet
};

/// "amd:6:/opt/rocm/lib/libamdhip64.so.7", one crash a line. Lines that are no crash are skipped.
std::vector<Crash> parse_crashes(const std::string& text);

/// What the platform's status is then.
PlatformStatus status_of(const Crash& crash);

/// For the program only, never for the library: starts platforms so that a vendor's library that
/// aborts or faults while it starts is a platform with a reason, as in any other failure to start.
///
/// While a library starts, the signals of a crash lead to a handler that replaces this process by a
/// new one with the same arguments (execve, which signal handlers may call); it gets the crash in
/// an environment variable and leaves that platform out. So nothing is paid where nothing crashes:
/// to try each driver in a second process first would start it twice, 0.2 s each time.
class CrashGuard final : public hip::Binder {
 public:
  /// `arguments`: those of main(). Takes the crashes of the process before from the environment.
  CrashGuard(std::shared_ptr<hip::Binder> inner, char** arguments);
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override;

 private:
  std::shared_ptr<hip::Binder> inner_;
  char** arguments_;
  std::string text_;  // of the crashes so far, as the next process gets it
  std::vector<Crash> crashes_;
};

}  // namespace hiptool::cli
