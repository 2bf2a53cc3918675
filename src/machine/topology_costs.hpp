// SPDX-License-Identifier: MIT
/// What the distances between devices, and between devices and host memory, cost: copies of an
/// earlier bench-copy by the links that they took.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/topology.hpp"
#include "report/reader.hpp"

namespace hiptool::machine {

/// The copy from one device to another: the largest p2p-write, or else p2p-read.
struct PairCost {
  std::string cell;  ///< id of the measurement
  double bytes_per_s = 0;
  std::optional<double> latency_s;
};

/// All pairs of one kind of link.
struct LinkCost {
  std::string code;  ///< as short_code() has it
  std::size_t pairs = 0;
  double least_bytes_per_s = 0;
  double median_bytes_per_s = 0;
  double most_bytes_per_s = 0;
  double share_of_best = 0;  ///< of the fastest kind's median
};

/// Copies of one device from and to the memory of one NUMA node.
struct HostCost {
  std::string device;
  int node = 0;
  std::optional<std::uint64_t> numa_distance;
  std::optional<double> h2d_bytes_per_s;
  std::optional<double> d2h_bytes_per_s;
};

struct TopologyCosts {
  std::map<std::pair<std::string, std::string>, PairCost> pairs;  ///< by source and destination
  std::vector<LinkCost> links;                                    ///< the fastest first
  std::vector<HostCost> host;
};

/// The costs in a document of bench-copy for these places and pairs. Throws Error(invalid_argument)
/// for a document of another command, one that was measured on other devices, and one without
/// copies between these devices or from NUMA nodes.
TopologyCosts read_costs(const report::RunFile& file, const std::filesystem::path& root,
                         const std::vector<TopologyPlace>& places,
                         const std::vector<TopologyPair>& pairs);

}  // namespace hiptool::machine
