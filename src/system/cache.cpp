// SPDX-License-Identifier: MIT
#include "system/cache.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "base/file.hpp"
#include "system/numa.hpp"

namespace hiptool::system {
namespace {

struct Cache {
  int level = 0;
  std::uint64_t size_bytes = 0;
  std::string shared_by;
};

// "32768K\n", as Linux writes it (Documentation/ABI/testing/sysfs-devices-system-cpu).
std::uint64_t parse_cache_size(const std::string& text) {
  std::uint64_t size = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc{} || size > UINT32_MAX) return 0;
  const char unit = rest < text.data() + text.size() ? *rest : '\0';
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

Cache read_cache(const std::filesystem::path& folder) {
  const std::string level = base::read_small_file(folder / "level");
  Cache cache;
  std::from_chars(level.data(), level.data() + level.size(), cache.level);
  cache.size_bytes = parse_cache_size(base::read_small_file(folder / "size"));
  cache.shared_by = base::read_small_file(folder / "shared_cpu_list");
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
