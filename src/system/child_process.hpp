// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder.hpp"
#include "hiptool/cancel.hpp"

namespace hiptool::system {

/// For the files that go to a child process and come back, and for its own temporary files.
class WorkFolder {
 public:
  WorkFolder() : folder_("hiptool-compile") {}

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  base::TemporaryFolder folder_;
};

/// The file's bytes; empty when it cannot be read.
std::string read_text(const std::string& path);

/// About eight times what g++ needs for a kernel of 10,000 lines.
inline constexpr std::uint64_t compiler_memory_bytes = std::uint64_t{4} << 30;

struct ChildLimits {
  std::chrono::milliseconds time{0};
  std::uint64_t memory_bytes = compiler_memory_bytes;  ///< private memory of a process; 0: no limit
  bool has_cpu_limit = true;  ///< processor time, of all threads, is limited a little above `time`
};

struct ChildRun {
  std::optional<int> status;  ///< as of wait; empty when it took too long and was killed
  std::string output;         ///< what it printed: nothing of it may reach this program's
};

/// Runs words[0], a path, in a process group of its own with TMPDIR in `folder`, and waits for it.
/// When this function ends, also because of time, a cancel or an exception, the whole group is
/// dead. Throws Error(device) when it does not start, Error(cancelled) when it was killed or ended
/// because of a cancel; the token may be null.
ChildRun run_child(const std::vector<std::string>& words, const WorkFolder& folder,
                   const ChildLimits& limits, const CancelToken* cancel = nullptr);

/// "ended with exit code 1", "was ended by signal 6 (Aborted)".
std::string describe_end(int wait_status);

/// Whether a failed compiler's output reports that memory ran out.
bool is_out_of_memory(std::string_view output);

}  // namespace hiptool::system
