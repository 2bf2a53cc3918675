// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <set>
#include <string>

namespace hiptool::test {

/// The threads of this process; one that has just ended may be among them.
inline std::set<pid_t> thread_ids() {
  std::set<pid_t> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ids.insert(static_cast<pid_t>(std::stol(entry.path().filename().string())));
  }
  return ids;
}

}  // namespace hiptool::test
