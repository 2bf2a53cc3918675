// SPDX-License-Identifier: MIT
#include "system/host.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "system/cgroup.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

std::string kernel_field(const fs::path& root, const char* field) {
  return base::read_small_file(root / "proc/sys/kernel" / field);
}

// "MemTotal:       24684092 kB"
std::uint64_t meminfo_bytes(const fs::path& root, std::string_view key) {
  std::istringstream lines(base::read_small_file(root / "proc/meminfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key, 0) != 0) continue;
    std::uint64_t kibibytes = 0;
    const auto digits = std::min(line.find_first_of("0123456789", key.size()), line.size());
    const auto [end, error] =
        std::from_chars(line.data() + digits, line.data() + line.size(), kibibytes);
    const bool fits = error == std::errc{} && kibibytes <= UINT64_MAX / 1024;
    return fits ? kibibytes * 1024 : 0;
  }
  return 0;
}

// 0 (a file that cannot be read) sets no bound.
std::uint64_t bounded(std::uint64_t bytes, std::optional<std::uint64_t> bound) {
  if (!bound) return bytes;
  return bytes == 0 ? *bound : std::min(bytes, *bound);
}

// "model name" on x86; Arm kernels name at most the board ("Hardware", "Model").
std::string cpu_name(const fs::path& root) {
  const std::string text = base::read_small_file(root / "proc/cpuinfo");
  for (const std::string_view key : {"model name", "Hardware", "Model"}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto colon = line.find(':');
      if (line.rfind(key, 0) != 0 || colon == std::string::npos) continue;
      const auto start = line.find_first_not_of(" \t", colon + 1);
      if (start != std::string::npos) return line.substr(start);
    }
  }
  return {};
}

// The set grows until the kernel's fits: it answers EINVAL to one that is too small.
std::uint64_t cores_of_affinity() {
  constexpr std::size_t most_sets = 64;  // 64 x 1024 cores
  for (std::size_t count = 1; count <= most_sets; count *= 2) {
    std::vector<cpu_set_t> set(count);
    const std::size_t bytes = count * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0) {
      return static_cast<std::uint64_t>(CPU_COUNT_S(bytes, set.data()));
    }
    if (errno != EINVAL) break;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::uint64_t bounded_cores(std::uint64_t cores, std::optional<double> quota) {
  if (!quota || *quota >= static_cast<double>(cores)) return cores;
  return static_cast<std::uint64_t>(std::ceil(*quota));
}

}  // namespace

std::uint64_t usable_cores(const fs::path& root) {
  return bounded_cores(cores_of_affinity(), read_cgroup_limits(root).cpu_cores);
}

Host read_host(const fs::path& root) {
  const CgroupLimits limits = read_cgroup_limits(root);
  Host host;
  host.name = kernel_field(root, "hostname");
  host.kernel = kernel_field(root, "ostype");
  const std::string release = kernel_field(root, "osrelease");
  if (!release.empty()) host.kernel += (host.kernel.empty() ? "" : " ") + release;
  host.cpu = cpu_name(root);
  host.cores = bounded_cores(cores_of_affinity(), limits.cpu_cores);
  host.memory_bytes = bounded(meminfo_bytes(root, "MemTotal:"), limits.memory_bytes);
  return host;
}

std::uint64_t available_memory_bytes(const fs::path& root) {
  return bounded(meminfo_bytes(root, "MemAvailable:"),
                 read_cgroup_limits(root).available_memory_bytes);
}

}  // namespace hiptool::system
