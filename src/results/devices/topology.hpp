// SPDX-License-Identifier: MIT
/// `devices --topology`.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "machine/inventory.hpp"
#include "machine/topology.hpp"
#include "machine/topology_costs.hpp"
#include "report/reader.hpp"
#include "report/report.hpp"

namespace hiptool::results {

struct TopologyFindings {
  std::vector<std::string> ids;                ///< the GPUs, in the order of rows and columns
  std::vector<machine::TopologyPair> pairs;    ///< of GPUs
  std::vector<system::Nic> nics;               ///< network cards
  std::vector<machine::TopologyPair> to_nics;  ///< from each GPU to each card
  std::vector<machine::TopologyPlace> places;  ///< of the GPUs, then of the cards
  std::optional<machine::TopologyCosts> costs;
  std::string costs_path;  ///< of the document they are from
};

/// GPUs of the inventory, whose sensors were read, and network cards; `ask_peer` as for
/// read_topology.
TopologyFindings find_topology(const machine::Inventory& inventory,
                               const std::filesystem::path& root, const machine::AskPeer& ask_peer);

/// Adds the costs of a document of bench-copy. Throws as machine::read_costs().
void add_costs(const report::RunFile& file, const std::filesystem::path& root,
               TopologyFindings& topology);

/// Queries the runtimes of this process; absent if they throw.
machine::AskPeer peers_of(Platforms& platforms);

/// `topology` of the JSON document: devices, links, and the matrix of kinds.
report::Object topology_value(const TopologyFindings& topology);

/// For people: the matrix of GPUs, the matrix of GPUs and network cards, their places, and the
/// costs. Each fits 80 columns with eight GPUs.
std::vector<report::Table> topology_tables(const TopologyFindings& topology);

/// A row for each pair, network cards included; with costs also rates and latencies.
report::Table topology_pairs(const TopologyFindings& topology);

/// A legend of the matrices.
std::vector<report::Line> topology_notes(const TopologyFindings& topology);

}  // namespace hiptool::results
