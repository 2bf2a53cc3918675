// SPDX-License-Identifier: MIT
/// `devices --topology`.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "measure/inventory.hpp"
#include "measure/topology.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

struct TopologyFindings {
  std::vector<std::string> ids;  ///< the GPUs, in the order of rows and columns
  std::vector<measure::TopologyPair> pairs;
};

/// GPUs of the inventory, whose sensors were read; `ask_peer` as for read_topology.
TopologyFindings find_topology(const measure::Inventory& inventory,
                               const std::filesystem::path& root, const measure::AskPeer& ask_peer);

/// Queries the runtimes of this process; absent if they throw.
measure::AskPeer peers_of(Platforms& platforms);

/// `topology` of the JSON document: devices, links, and the matrix of kinds.
report::Object topology_value(const TopologyFindings& topology);

/// A row and a column for each device: "nvlink x18", "switch", "node, no peer access".
report::Table topology_matrix(const TopologyFindings& topology);

/// A row for each pair.
report::Table topology_pairs(const TopologyFindings& topology);

/// A legend of the matrix.
std::vector<report::Line> topology_notes(const TopologyFindings& topology);

}  // namespace hiptool::cli
