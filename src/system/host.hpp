// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace hiptool::system {

/// Properties of the machine for reports.
struct Host {
  std::string name;
  std::string kernel;       ///< "Linux 6.1.0-18-amd64"
  std::string cpu;          ///< model name from /proc/cpuinfo
  std::uint64_t cores = 0;  ///< logical cores this process may run on (affinity, cgroup quota)
  std::uint64_t memory_bytes = 0;  ///< memory this process may use (MemTotal or the cgroup's limit)
};

Host read_host(const std::filesystem::path& root);

/// Host::cores alone, without the files that take milliseconds on machines with many cores.
std::uint64_t usable_cores(const std::filesystem::path& root);

/// Memory that can be allocated without swapping: MemAvailable, bounded by the cgroup's limits.
std::uint64_t available_memory_bytes(const std::filesystem::path& root);

}  // namespace hiptool::system
