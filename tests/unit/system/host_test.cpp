// SPDX-License-Identifier: MIT
#include "system/host.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

void add_synthetic_host(const SyntheticTree& tree) {
  tree.write("proc/sys/kernel/hostname", "node7");
  tree.write("proc/sys/kernel/ostype", "Linux");
  tree.write("proc/sys/kernel/osrelease", "6.1.0-18-amd64");
  tree.write("proc/cpuinfo",
             "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9554 64-Core Processor\n");
  tree.write("proc/meminfo", "MemTotal:    1048576 kB\nMemFree:  1 kB\nMemAvailable:  524288 kB");
}

}  // namespace

TEST_CASE("the host of a synthetic tree") {
  const SyntheticTree tree;
  add_synthetic_host(tree);
  const Host host = read_host(tree.root());
  CHECK(host.name == "node7");
  CHECK(host.kernel == "Linux 6.1.0-18-amd64");
  CHECK(host.cpu == "AMD EPYC 9554 64-Core Processor");
  CHECK(host.cores >= 1);
  CHECK(host.memory_bytes == 1u << 30);
  CHECK(available_memory_bytes(tree.root()) == 1u << 29);
}

TEST_CASE("control groups bound cores and memory of a synthetic host") {
  const SyntheticTree tree;
  add_synthetic_host(tree);
  tree.write("proc/self/cgroup", "0::/");
  tree.write("sys/fs/cgroup/cpu.max", "10000 100000");
  tree.write("sys/fs/cgroup/memory.max", "268435456");
  tree.write("sys/fs/cgroup/memory.current", "1048576");
  CHECK(read_host(tree.root()).cores == 1);  // a tenth of a core is still one thread
  CHECK(read_host(tree.root()).memory_bytes == 268435456);
  CHECK(available_memory_bytes(tree.root()) == 268435456 - 1048576);
}

TEST_CASE("generous control groups change nothing") {
  const SyntheticTree tree;
  add_synthetic_host(tree);
  const std::uint64_t cores = read_host(tree.root()).cores;
  tree.write("proc/self/cgroup", "0::/");
  tree.write("sys/fs/cgroup/cpu.max", "100000000 1000");
  tree.write("sys/fs/cgroup/memory.max", "1099511627776");
  CHECK(read_host(tree.root()).cores == cores);
  CHECK(read_host(tree.root()).memory_bytes == 1u << 30);
  CHECK(available_memory_bytes(tree.root()) == 1u << 29);
}

TEST_CASE("an Arm board, an empty and a damaged synthetic tree") {
  const SyntheticTree tree;
  CHECK(read_host(tree.root()).name.empty());
  CHECK(read_host(tree.root()).kernel.empty());
  CHECK(read_host(tree.root()).memory_bytes == 0);
  CHECK(available_memory_bytes(tree.root()) == 0);
  tree.write("proc/cpuinfo", "processor\t: 0\nHardware\t: BCM2835");
  CHECK(read_host(tree.root()).cpu == "BCM2835");
  tree.write("proc/meminfo", "MemTotal: lots\nMemAvailable: 99999999999999999999999 kB");
  CHECK(read_host(tree.root()).memory_bytes == 0);
  CHECK(available_memory_bytes(tree.root()) == 0);
}

TEST_CASE("this machine") {
  const Host host = read_host("/");
  CHECK_FALSE(host.name.empty());
  CHECK(host.kernel.rfind("Linux ", 0) == 0);
  CHECK(host.cores >= 1);
  CHECK(host.memory_bytes > 0);
  CHECK(available_memory_bytes("/") <= host.memory_bytes);
}
