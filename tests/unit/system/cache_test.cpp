// SPDX-License-Identifier: MIT
#include "system/cache.hpp"

#include <doctest/doctest.h>

#include "unit/system/synthetic_tree.hpp"

using namespace hiptool;
using system::last_level_cache_bytes;

namespace {

struct CacheTree : system::SyntheticTree {
  void add(int cpu, int index, int level, const std::string& size, const std::string& cpus) const {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" +
                               std::to_string(index) + "/";
    write(folder + "level", std::to_string(level));
    write(folder + "size", size);
    write(folder + "shared_cpu_list", cpus);
  }
};

}  // namespace

TEST_CASE_FIXTURE(CacheTree, "each last-level cache of the given CPUs counts once") {
  for (int cpu = 0; cpu < 8; ++cpu) {
    add(cpu, 0, 1, "32K", std::to_string(cpu));
    add(cpu, 1, 1, "32K", std::to_string(cpu));
    add(cpu, 2, 2, "1024K", std::to_string(cpu));
    add(cpu, 3, 3, "32768K", cpu < 4 ? "0-3" : "4-7");
  }
  CHECK(last_level_cache_bytes(root(), {0, 1, 2, 3, 4, 5, 6, 7}) == 64u << 20);
  CHECK(last_level_cache_bytes(root(), {1, 2}) == 32u << 20);
  CHECK(last_level_cache_bytes(root(), {}) == 0);
  CHECK(last_level_cache_bytes(root(), {99}) == 0);
}

TEST_CASE_FIXTURE(CacheTree,
                  "without a third level the second counts; sizes in MiB and no numbers") {
  add(0, 0, 1, "48K", "0");
  add(0, 1, 2, "2M", "0");
  add(1, 0, 1, "48K", "1");
  add(1, 1, 2, "many", "1");
  CHECK(last_level_cache_bytes(root(), {0}) == 2u << 20);
  CHECK(last_level_cache_bytes(root(), {1}) == 0);
}

TEST_CASE_FIXTURE(CacheTree, "the caches of a core by level, with their kind") {
  add(0, 0, 2, "1024K", "0");
  write("sys/devices/system/cpu/cpu0/cache/index0/type", "Unified");
  add(0, 1, 1, "48K", "0");
  write("sys/devices/system/cpu/cpu0/cache/index1/type", "Data");
  add(0, 2, 1, "32K", "0");
  write("sys/devices/system/cpu/cpu0/cache/index2/type", "Instruction");
  const auto caches = system::cpu_caches(root());
  REQUIRE(caches.size() == 3);
  CHECK(caches[0].name == "L1d");
  CHECK(caches[0].size_bytes == 48u << 10);
  CHECK(caches[1].name == "L1i");
  CHECK(caches[2].name == "L2");
  CHECK(system::cpu_caches(root() / "none").empty());
}

TEST_CASE_FIXTURE(CacheTree, "features are those of the first CPU, in a fixed order") {
  write("proc/cpuinfo",
        "processor\t: 0\nflags\t\t: fpu avx512f avx2 amx_tile\nprocessor\t: 1\n"
        "flags\t\t: sve\n");
  CHECK(system::cpu_features(root()) == std::vector<std::string>{"avx2", "avx512f", "amx_tile"});
  write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd sve2\n");
  CHECK(system::cpu_features(root()) == std::vector<std::string>{"asimd", "sve2"});
  CHECK(system::cpu_features(root() / "none").empty());
}
