// SPDX-License-Identifier: MIT
#include "system/cache.hpp"

#include <set>
#include <string>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "system/numa.hpp"

namespace hiptool::system {
namespace {

struct Cache {
  int level = 0;
  std::uint64_t size_bytes = 0;
  std::string shared_by;
};

// Level and size are "3" and "32768K" (Documentation/ABI/testing/sysfs-devices-system-cpu).
Cache read_cache(const std::filesystem::path& folder) {
  Cache cache;
  cache.level = base::parse_number<int>(base::read_small_file(folder / "level")).value_or(0);
  if (cache.level == 0) return cache;
  cache.shared_by = base::read_small_file(folder / "shared_cpu_list");
  try {
    cache.size_bytes = parse_size(base::read_small_file(folder / "size"));
  } catch (const Error&) {
    // A size that cannot be read counts as none.
  }
  return cache;
}

Cache last_level_cache(const std::filesystem::path& cpu) {
  Cache last;
  for (int index = 0; index < 16; ++index) {
    const Cache cache = read_cache(cpu / "cache" / ("index" + std::to_string(index)));
    if (cache.level == 0) break;
    if (cache.level > last.level) last = cache;
  }
  return last;
}

}  // namespace

std::uint64_t last_level_cache_bytes(const std::filesystem::path& root,
                                     const std::vector<int>& cpus) {
  std::uint64_t total = 0;
  std::set<int> counted;  // CPUs whose cache is in the total
  for (const int cpu : cpus) {
    if (counted.contains(cpu)) continue;
    const Cache cache =
        last_level_cache(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)));
    total += cache.size_bytes;
    for (const int other : parse_cpu_list(cache.shared_by)) counted.insert(other);
  }
  return total;
}

}  // namespace hiptool::system
