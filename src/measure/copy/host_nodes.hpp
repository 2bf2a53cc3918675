// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <filesystem>
#include <vector>

#include "system/numa.hpp"

namespace hiptool::measure {

/// A NUMA node of the host that has CPUs.
struct HostNode {
  int number = 0;
  std::vector<int> cpus;
  bool is_usable = true;  ///< this thread may run on one of its CPUs
};

/// The nodes with CPUs, read below `root`; empty if there is only one, because then there is no
/// choice.
std::vector<HostNode> read_host_nodes(const std::filesystem::path& root);

/// Keeps the calling thread and the memory it touches first on a node until the end of the scope.
/// If the kernel refuses the memory policy, only the CPUs are bound.
class NodeBinding {
 public:
  explicit NodeBinding(const HostNode& node);
  ~NodeBinding();
  NodeBinding(const NodeBinding&) = delete;
  NodeBinding& operator=(const NodeBinding&) = delete;

 private:
  static constexpr std::size_t mask_words = 16;  // 1024 nodes
  using Mask = std::array<unsigned long, mask_words>;

  system::CpuBinding cpus_;
  int previous_mode_ = 0;
  Mask previous_mask_{};
  bool has_policy_ = false;
};

}  // namespace hiptool::measure
