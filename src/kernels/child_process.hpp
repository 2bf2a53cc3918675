// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"

namespace hiptool::kernels {

/// A folder of its own for the files that go to a child process and come back; goes with all that
/// is in it. Throws Error(output_failed) when it cannot be made.
class WorkFolder {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// The file's bytes; empty when it cannot be read.
std::string read_text(const std::string& path);

/// Runs words[0], a path, and waits for it. Its output goes to the file `log_path`: nothing of it
/// may reach this program's. Gives back the wait status, or nothing when it took too long and was
/// killed. Throws Error(device) when it does not start, Error(cancelled) when it was killed or
/// ended because of a cancel; the token may be null.
std::optional<int> run_child(const std::vector<std::string>& words, const std::string& log_path,
                             std::chrono::milliseconds timeout,
                             const CancelToken* cancel = nullptr);

/// "ended with exit code 1", "was ended by signal 6 (Aborted)".
std::string describe_end(int wait_status);

}  // namespace hiptool::kernels
