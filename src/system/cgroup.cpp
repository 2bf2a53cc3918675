// SPDX-License-Identifier: MIT
#include "system/cgroup.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"

// File names and meanings: the kernel's admin-guide/cgroup-v2 and admin-guide/cgroup-v1/memory,
// scheduler/sched-bwc.
namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

// For "no limit", version 1 has the largest multiple of the page size in 63 bits.
constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;

// "max" and -1 mean "no limit".
std::optional<std::uint64_t> parse_limit(std::string_view text) {
  return base::parse_number<std::uint64_t>(text);
}

std::optional<std::uint64_t> read_number(const fs::path& file) {
  return parse_limit(base::read_small_file(file));
}

std::optional<std::uint64_t> read_stat(const fs::path& file, std::string_view key) {
  std::istringstream lines(base::read_small_file(file));
  for (std::string name, value; lines >> name >> value;) {
    if (name == key) return parse_limit(value);
  }
  return {};
}

template <class Number>
void take_smaller(std::optional<Number>& smallest, Number value) {
  smallest = smallest ? std::min(*smallest, value) : value;
}

void take_memory(CgroupLimits& limits, std::optional<std::uint64_t> limit,
                 std::optional<std::uint64_t> used, std::optional<std::uint64_t> cache) {
  if (limit.value_or(unlimited) >= unlimited) return;
  take_smaller(limits.memory_bytes, *limit);
  const std::uint64_t total = used.value_or(0);
  const std::uint64_t held = total - std::min(cache.value_or(0), total);
  take_smaller(limits.available_memory_bytes, *limit - std::min(held, *limit));
}

void take_cpu(CgroupLimits& limits, std::optional<std::uint64_t> quota,
              std::optional<std::uint64_t> period) {
  // Compilers test absent numbers, too, in a longer condition, which valgrind reports.
  if (quota.value_or(0) == 0 || period.value_or(0) == 0) return;
  take_smaller(limits.cpu_cores, static_cast<double>(*quota) / static_cast<double>(*period));
}

void read_version_2(CgroupLimits& limits, const fs::path& folder) {
  take_memory(limits, read_number(folder / "memory.max"), read_number(folder / "memory.current"),
              read_stat(folder / "memory.stat", "inactive_file"));
  std::istringstream cpu(base::read_small_file(folder / "cpu.max"));
  std::string quota;
  std::string period;
  cpu >> quota >> period;
  take_cpu(limits, parse_limit(quota), parse_limit(period));
}

void read_memory_version_1(CgroupLimits& limits, const fs::path& folder) {
  take_memory(limits, read_number(folder / "memory.limit_in_bytes"),
              read_number(folder / "memory.usage_in_bytes"),
              read_stat(folder / "memory.stat", "total_inactive_file"));
}

void read_cpu_version_1(CgroupLimits& limits, const fs::path& folder) {
  take_cpu(limits, read_number(folder / "cpu.cfs_quota_us"),
           read_number(folder / "cpu.cfs_period_us"));
}

// The group's folder and all above it, `mount` last: a limit of any level holds. Inside a container
// the path may be the host's, which does not exist here, or lead out of the mount ("/../x"): then
// only the limits of the mount itself can be read.
std::vector<fs::path> levels(const fs::path& mount, const std::string& group) {
  std::vector<fs::path> names;
  for (const fs::path& name : fs::path(group).relative_path()) {
    if (name == "..") return {mount};
    if (!name.empty()) names.push_back(name);
  }
  std::vector<fs::path> folders{mount};
  for (const fs::path& name : names) folders.push_back(folders.back() / name);
  std::ranges::reverse(folders);
  return folders;
}

bool names_controller(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

// A version 1 hierarchy is mounted under the list of its controllers, whose order may differ from
// that of /proc/self/cgroup; each controller has a link of its own next to it.
fs::path mount_of(const fs::path& mount, const std::string& list, const char* controller) {
  std::error_code ignored;
  return fs::is_directory(mount / list, ignored) ? mount / list : mount / controller;
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  std::istringstream lines(base::read_small_file(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {  // "0::/group", "4:cpu,cpuacct:/group"
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      for (const fs::path& folder : levels(mount, group)) read_version_2(limits, folder);
    } else if (names_controller(controllers, "memory")) {
      for (const fs::path& folder : levels(mount_of(mount, controllers, "memory"), group)) {
        read_memory_version_1(limits, folder);
      }
    } else if (names_controller(controllers, "cpu")) {
      for (const fs::path& folder : levels(mount_of(mount, controllers, "cpu"), group)) {
        read_cpu_version_1(limits, folder);
      }
    }
  }
  return limits;
}

}  // namespace hiptool::system
