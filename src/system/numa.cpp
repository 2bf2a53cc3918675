// SPDX-License-Identifier: MIT
#include "system/numa.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <string>

#include "base/file.hpp"
#include "system/pci.hpp"

namespace hiptool::system {
namespace {

constexpr int most_cpus = 1 << 16;
constexpr const char* nodes_folder = "sys/devices/system/node";

bool set_affinity(const std::vector<int>& cpus) {
  const int highest = *std::ranges::max_element(cpus);
  std::vector<cpu_set_t> set(static_cast<std::size_t>(highest) / CPU_SETSIZE + 1);
  const std::size_t bytes = set.size() * sizeof(cpu_set_t);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.data());
  return sched_setaffinity(0, bytes, set.data()) == 0;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc{} || first < 0) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc{}) break;
    }
    if (last < first || last >= most_cpus) break;
    for (int cpu = first; cpu <= last && cpus.size() < most_cpus; ++cpu) cpus.push_back(cpu);
    if (parsed.ptr == end || *parsed.ptr != ',') break;
    at = parsed.ptr + 1;
  }
  return cpus;
}

std::size_t numa_node_count(const std::filesystem::path& root) {
  const auto nodes = parse_cpu_list(base::read_small_file(root / nodes_folder / "online"));
  return std::max<std::size_t>(1, nodes.size());
}

std::vector<int> cpus_near(const std::filesystem::path& root, std::string_view bus_id) {
  if (numa_node_count(root) < 2) return {};
  const auto device = find_pci_device(root, bus_id);
  if (!device || !device->numa_node) return {};
  const std::string node = "node" + std::to_string(*device->numa_node);
  return parse_cpu_list(base::read_small_file(root / nodes_folder / node / "cpulist"));
}

std::vector<int> allowed_cpus() {
  // The set grows until the kernel's fits: it returns EINVAL for one that is too small.
  for (std::size_t count = 1; count * CPU_SETSIZE <= most_cpus; count *= 2) {
    std::vector<cpu_set_t> set(count);
    const std::size_t bytes = count * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0) {
      std::vector<int> cpus;
      for (std::size_t cpu = 0; cpu < count * CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set.data())) cpus.push_back(static_cast<int>(cpu));
      }
      return cpus;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

CpuBinding::CpuBinding(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const std::vector<int> allowed = allowed_cpus();
  std::vector<int> wanted(cpus);
  std::ranges::sort(wanted);
  std::vector<int> both;
  std::set_intersection(allowed.begin(), allowed.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(both));
  if (!both.empty() && set_affinity(both)) previous_ = allowed;
}

CpuBinding::~CpuBinding() {
  if (is_bound()) set_affinity(previous_);
}

}  // namespace hiptool::system
