// SPDX-License-Identifier: MIT
#include "system/host.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "base/file.hpp"
#include "system/cgroup.hpp"
#include "system/numa.hpp"

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

std::uint64_t count_cores(std::optional<double> quota) {
  std::uint64_t cores = allowed_cpus().size();
  if (cores == 0) cores = std::max(1u, std::thread::hardware_concurrency());
  if (!quota || *quota >= static_cast<double>(cores)) return cores;
  return static_cast<std::uint64_t>(std::ceil(*quota));
}

}  // namespace

std::uint64_t usable_cores(const fs::path& root) {
  return count_cores(read_cgroup_limits(root).cpu_cores);
}

Host read_host(const fs::path& root) {
  const CgroupLimits limits = read_cgroup_limits(root);
  Host host;
  host.name = kernel_field(root, "hostname");
  host.kernel = kernel_field(root, "ostype");
  const std::string release = kernel_field(root, "osrelease");
  if (!release.empty()) host.kernel += (host.kernel.empty() ? "" : " ") + release;
  host.cpu = cpu_name(root);
  host.cores = count_cores(limits.cpu_cores);
  host.memory_bytes = bounded(meminfo_bytes(root, "MemTotal:"), limits.memory_bytes);
  return host;
}

std::uint64_t available_memory_bytes(const fs::path& root) {
  return bounded(meminfo_bytes(root, "MemAvailable:"),
                 read_cgroup_limits(root).available_memory_bytes);
}

}  // namespace hiptool::system
