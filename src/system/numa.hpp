// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace hiptool::system {

/// Numbers of a list as the kernel writes it, "0-3,8,10-11", up to the first malformed entry. At
/// most 65 536 numbers.
std::vector<int> parse_cpu_list(std::string_view text);

/// How many NUMA nodes are online, read below `root`; 1 where the kernel does not report it.
std::size_t numa_node_count(const std::filesystem::path& root);

/// The logical CPUs of the NUMA node that a PCI device is attached to, read below `root`. Empty
/// where the system has one node, or does not report which one it is.
std::vector<int> cpus_near(const std::filesystem::path& root, std::string_view bus_id);

/// The logical CPUs that the calling thread may run on.
std::vector<int> allowed_cpus();

/// Keeps the calling thread on some CPUs, as far as it is allowed to run there, until the end of
/// the scope. Memory that is touched first meanwhile comes from their node, unless a memory policy
/// of the process (numactl) says otherwise. Does nothing for an empty list, or if none is allowed.
class CpuBinding {
 public:
  explicit CpuBinding(const std::vector<int>& cpus);
  ~CpuBinding();
  CpuBinding(const CpuBinding&) = delete;
  CpuBinding& operator=(const CpuBinding&) = delete;

  bool is_bound() const noexcept { return !previous_.empty(); }

 private:
  std::vector<int> previous_;
};

}  // namespace hiptool::system
