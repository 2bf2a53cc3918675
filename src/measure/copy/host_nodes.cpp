// SPDX-License-Identifier: MIT
#include "measure/copy/host_nodes.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/contains.hpp"
#include "base/file.hpp"

namespace hiptool::measure {
namespace {

constexpr const char* nodes_folder = "sys/devices/system/node";
constexpr int prefer_node = 1;  // MPOL_PREFERRED, linux/mempolicy.h
constexpr std::size_t bits_per_word = 8 * sizeof(unsigned long);

}  // namespace

std::vector<HostNode> read_host_nodes(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / nodes_folder;
  const std::vector<int> allowed = system::allowed_cpus();
  std::vector<HostNode> nodes;
  for (const int number : system::parse_cpu_list(base::read_small_file(folder / "online"))) {
    const auto name = "node" + std::to_string(number);
    HostNode node{number, system::parse_cpu_list(base::read_small_file(folder / name / "cpulist")),
                  false};
    if (node.cpus.empty()) continue;
    node.is_usable =
        std::ranges::any_of(node.cpus, [&](int cpu) { return base::contains(allowed, cpu); });
    nodes.push_back(std::move(node));
  }
  if (nodes.size() < 2) nodes.clear();
  return nodes;
}

NodeBinding::NodeBinding(const HostNode& node) : cpus_(node.cpus) {
  const auto number = static_cast<std::size_t>(node.number);
  if (number >= mask_words * bits_per_word) return;
  constexpr unsigned long most_nodes = mask_words * bits_per_word;
  if (syscall(SYS_get_mempolicy, &previous_mode_, previous_mask_.data(), most_nodes, nullptr, 0) !=
      0) {
    return;
  }
  Mask mask{};
  mask[number / bits_per_word] = 1ul << (number % bits_per_word);
  has_policy_ = syscall(SYS_set_mempolicy, prefer_node, mask.data(), most_nodes) == 0;
}

NodeBinding::~NodeBinding() {
  if (!has_policy_) return;
  const bool has_nodes =
      std::ranges::any_of(previous_mask_, [](unsigned long word) { return word != 0; });
  // The default policy requires an empty set of nodes.
  syscall(SYS_set_mempolicy, previous_mode_, has_nodes ? previous_mask_.data() : nullptr,
          has_nodes ? mask_words * bits_per_word : 0);
}

}  // namespace hiptool::measure
