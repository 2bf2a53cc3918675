// SPDX-License-Identifier: MIT
#include "system/cgroup.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

constexpr std::uint64_t mib = 1u << 20;

std::string bytes(std::uint64_t count) { return std::to_string(count); }

}  // namespace

TEST_CASE("no control groups, no limits") {
  const SyntheticTree tree;
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  CHECK_FALSE(limits.cpu_cores);
  CHECK_FALSE(limits.memory_bytes);
  CHECK_FALSE(limits.available_memory_bytes);
}

TEST_CASE("version 2: the tightest level on the way up holds") {
  const SyntheticTree tree;
  tree.write("proc/self/cgroup", "0::/user.slice/job");
  tree.write("sys/fs/cgroup/user.slice/job/memory.max", "max");
  tree.write("sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000");
  tree.write("sys/fs/cgroup/user.slice/memory.max", bytes(800 * mib));
  tree.write("sys/fs/cgroup/user.slice/memory.current", bytes(500 * mib));
  tree.write("sys/fs/cgroup/user.slice/memory.stat",
             "anon 1\nfile 2\ninactive_file " + bytes(200 * mib) + "\nactive_file 7");
  tree.write("sys/fs/cgroup/user.slice/cpu.max", "max 100000");
  tree.write("sys/fs/cgroup/memory.max", bytes(900 * mib));
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  CHECK(limits.memory_bytes == 800 * mib);
  CHECK(limits.available_memory_bytes == 500 * mib);  // 800 - (500 - 200)
  CHECK(limits.cpu_cores == 2.5);
}

TEST_CASE("version 2: use above the limit leaves nothing, not a wrapped number") {
  const SyntheticTree tree;
  tree.write("proc/self/cgroup", "0::/");
  tree.write("sys/fs/cgroup/memory.max", bytes(100));
  tree.write("sys/fs/cgroup/memory.current", bytes(150));
  CHECK(read_cgroup_limits(tree.root()).available_memory_bytes == 0);
  tree.write("sys/fs/cgroup/memory.stat", "inactive_file 1000");
  CHECK(read_cgroup_limits(tree.root()).available_memory_bytes == 100);
}

TEST_CASE("version 1: controllers under their own mounts") {
  const SyntheticTree tree;
  tree.write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/box\n1:cpuacct,cpu:/box\n0::/");
  tree.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", bytes(64 * mib));
  tree.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", bytes(40 * mib));
  tree.write("sys/fs/cgroup/memory/box/memory.stat",
             "inactive_file 5\ntotal_inactive_file " + bytes(30 * mib));
  tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  tree.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000");
  tree.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000");
  tree.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  tree.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  CHECK(limits.memory_bytes == 64 * mib);
  CHECK(limits.available_memory_bytes == 54 * mib);
  CHECK(limits.cpu_cores == 0.5);
}

TEST_CASE("version 1: the largest number means no limit") {
  const SyntheticTree tree;
  tree.write("proc/self/cgroup", "4:memory:/");
  tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  CHECK_FALSE(read_cgroup_limits(tree.root()).memory_bytes);
}

TEST_CASE("a path of the host or one that leads out of the mount: the mount itself tells") {
  for (const char* group : {"/docker/0123", "/../../../etc"}) {
    CAPTURE(group);
    const SyntheticTree tree;
    tree.write("proc/self/cgroup", std::string("0::") + group);
    tree.write("sys/fs/cgroup/memory.max", bytes(7 * mib));
    tree.write("etc/memory.max", "1");
    CHECK(read_cgroup_limits(tree.root()).memory_bytes == 7 * mib);
  }
}

TEST_CASE("garbage limits nothing") {
  const SyntheticTree tree;
  tree.write("proc/self/cgroup", "rubbish\n0:\n0::/a");
  tree.write("sys/fs/cgroup/a/memory.max", "12x");
  tree.write("sys/fs/cgroup/a/cpu.max", "100000 0");
  tree.write("sys/fs/cgroup/cpu.max", "");
  const CgroupLimits limits = read_cgroup_limits(tree.root());
  CHECK_FALSE(limits.memory_bytes);
  CHECK_FALSE(limits.cpu_cores);
}
