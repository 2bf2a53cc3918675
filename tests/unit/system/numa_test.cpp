// SPDX-License-Identifier: MIT
#include "system/numa.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

struct TwoNodes : SyntheticTree {
  TwoNodes() {
    write("sys/devices/system/node/online", "0-1");
    write("sys/devices/system/node/node0/cpulist", "0-3,8-11");
    write("sys/devices/system/node/node1/cpulist", "4-7");
    add_pci("0000:65:00.0", "0x10de", "0x2335", "0x030200", "nvidia");
    write("sys/bus/pci/devices/0000:65:00.0/numa_node", "1");
    add_pci("0000:75:00.0", "0x10de", "0x2335", "0x030200", "nvidia");
    write("sys/bus/pci/devices/0000:75:00.0/numa_node", "-1");
  }
};

}  // namespace

TEST_CASE("lists of CPUs as the kernel writes them") {
  CHECK(parse_cpu_list("0-3,8,10-11") == std::vector<int>{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("5") == std::vector<int>{5});
  for (const char* text : {"", "x", "-1", "3-1", "0-99999999", "1-x"}) {
    CAPTURE(text);
    CHECK(parse_cpu_list(text).empty());
  }
  CHECK(parse_cpu_list("1,x") == std::vector<int>{1});
  CHECK(parse_cpu_list("0-65535,0-65535").size() == 65'536);
}

TEST_CASE("the CPUs near a device are those of its node") {
  const TwoNodes tree;
  CHECK(numa_node_count(tree.root()) == 2);
  CHECK(cpus_near(tree.root(), "0000:65:00.0") == std::vector<int>{4, 5, 6, 7});
  CHECK(cpus_near(tree.root(), "65:00.0").size() == 4);
  CHECK(cpus_near(tree.root(), "0000:75:00.0").empty());  // the kernel does not say
  CHECK(cpus_near(tree.root(), "0000:99:00.0").empty());
  CHECK(cpus_near(tree.root(), "no bus id").empty());
}

TEST_CASE("on one node, or without a word of the kernel, every CPU is as near as any other") {
  const TwoNodes tree;
  tree.write("sys/devices/system/node/online", "0");
  CHECK(cpus_near(tree.root(), "0000:65:00.0").empty());
  const SyntheticTree nothing;
  CHECK(numa_node_count(nothing.root()) == 1);
  CHECK(cpus_near(nothing.root(), "0000:65:00.0").empty());
}

TEST_CASE("a thread is bound for the length of a scope, within what it is allowed") {
  std::jthread([] {
    const std::vector<int> before = allowed_cpus();
    REQUIRE_FALSE(before.empty());
    {
      const CpuBinding binding({before.back(), 60'000});
      CHECK(binding.is_bound());
      CHECK(allowed_cpus() == std::vector<int>{before.back()});
      const CpuBinding nowhere({60'000});  // none of them is allowed
      CHECK_FALSE(nowhere.is_bound());
      const CpuBinding anywhere({});
      CHECK_FALSE(anywhere.is_bound());
      CHECK(allowed_cpus() == std::vector<int>{before.back()});
    }
    CHECK(allowed_cpus() == before);
  });
}
