// SPDX-License-Identifier: MIT
#include "system/cache.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "system/numa.hpp"

namespace hiptool::system {
namespace {

constexpr int most_caches = 16;

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
  for (int index = 0; index < most_caches; ++index) {
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

std::vector<CpuCache> cpu_caches(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  std::vector<std::pair<int, CpuCache>> found;
  for (int index = 0; index < most_caches; ++index) {
    const std::filesystem::path one = folder / ("index" + std::to_string(index));
    const Cache cache = read_cache(one);
    if (cache.level == 0) break;
    if (cache.size_bytes == 0) continue;
    // "Data", "Instruction" or "Unified".
    const std::string type = base::read_small_file(one / "type");
    const char* const suffix = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    found.push_back({cache.level, {"L" + std::to_string(cache.level) + suffix, cache.size_bytes}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<CpuCache> caches;
  for (auto& [level, cache] : found) caches.push_back(std::move(cache));
  return caches;
}

std::vector<std::string> cpu_features(const std::filesystem::path& root) {
  // Names of arch/x86/include/asm/cpufeatures.h and arch/arm64/kernel/cpuinfo.c of Linux.
  constexpr std::string_view known[] = {
      "sse4_2",   "avx",      "f16c",     "fma",         "avx2",        "avx_vnni",
      "avx512f",  "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
      "amx_tile", "amx_int8", "amx_bf16", "asimd",       "asimdhp",     "asimddp",
      "bf16",     "i8mm",     "sve",      "sve2",        "sme"};
  // The first CPU's part alone: a file of a large machine has megabytes.
  std::ifstream file(root / "proc/cpuinfo");
  std::set<std::string, std::less<>> flags;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(std::min(line.find(':') + 1, line.size())));
    for (std::string word; words >> word;) flags.insert(word);
  }
  std::vector<std::string> features;
  for (const std::string_view name : known) {
    if (flags.contains(name)) features.emplace_back(name);
  }
  return features;
}

}  // namespace hiptool::system
