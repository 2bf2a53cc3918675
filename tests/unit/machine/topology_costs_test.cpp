// SPDX-License-Identifier: MIT
#include "machine/topology_costs.hpp"

#include <doctest/doctest.h>

#include "../system/synthetic_tree.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::machine;

namespace {

report::Measurement copy(const std::string& label, const std::string& source,
                         const std::string& destination, double bytes_per_s,
                         std::uint64_t size_bytes = 1 << 28) {
  report::Measurement one;
  one.label = label;
  one.id = label + "@" + source + ">" + destination;
  one.source = source;
  one.destination = destination;
  one.size_bytes = size_bytes;
  one.bytes_per_s = bytes_per_s;
  one.median_s = static_cast<double>(size_bytes) / bytes_per_s;
  return one;
}

TopologyPair link(const std::string& from, const std::string& to, LinkKind kind) {
  TopologyPair pair;
  pair.from = from;
  pair.to = to;
  pair.kind = kind;
  return pair;
}

TopologyPlace place(const std::string& id, const std::string& bus_id, int node) {
  TopologyPlace found;
  found.id = id;
  found.bus_id = bus_id;
  found.numa_node = node;
  return found;
}

// Two pairs through a host bridge, two between nodes.
struct Measured {
  system::SyntheticTree tree;
  report::RunFile file;
  std::vector<TopologyPlace> places{place("amd:0", "0000:03:00.0", 0),
                                    place("amd:1", "0000:04:00.0", 0),
                                    place("amd:2", "0000:81:00.0", 1)};
  std::vector<TopologyPair> pairs{link("amd:0", "amd:1", LinkKind::pcie_root),
                                  link("amd:1", "amd:0", LinkKind::pcie_root),
                                  link("amd:0", "amd:2", LinkKind::across_nodes),
                                  link("amd:2", "amd:0", LinkKind::across_nodes)};

  Measured() {
    tree.write("sys/devices/system/node/online", "0-1");
    tree.write("sys/devices/system/node/node0/distance", "10 32");
    file.path = "run.json";
    file.run.command = "bench-copy";
    file.measurements = {copy("p2p-write.copy.256MiB", "amd:0", "amd:1", 50e9),
                         copy("p2p-write.copy.256MiB", "amd:1", "amd:0", 40e9),
                         copy("p2p-write.copy.256MiB", "amd:0", "amd:2", 20e9)};
  }
  TopologyCosts read() const { return read_costs(file, tree.root(), places, pairs); }
  std::string refusal() const {
    try {
      read();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      return error.what();
    }
    return {};
  }
};

}  // namespace

TEST_CASE_FIXTURE(Measured, "costs: pairs by their kind of link, the fastest kind first") {
  const TopologyCosts costs = read();
  REQUIRE(costs.links.size() == 2);
  CHECK(costs.links[0].code == "PHB");
  CHECK(costs.links[0].pairs == 2);
  CHECK(costs.links[0].least_bytes_per_s == 40e9);
  CHECK(costs.links[0].median_bytes_per_s == 45e9);
  CHECK(costs.links[0].most_bytes_per_s == 50e9);
  CHECK(costs.links[0].share_of_best == 1);
  CHECK(costs.links[1].code == "SYS");
  CHECK(costs.links[1].pairs == 1);
  CHECK(costs.links[1].share_of_best == doctest::Approx(20.0 / 45));
  CHECK(costs.pairs.size() == 3);
  CHECK(costs.pairs.at({"amd:1", "amd:0"}).cell == "p2p-write.copy.256MiB@amd:1>amd:0");
}

TEST_CASE_FIXTURE(Measured, "costs: writes before reads, large before small, and the latency") {
  file.measurements.push_back(copy("p2p-read.copy.1GiB", "amd:0", "amd:1", 60e9, 1 << 30));
  file.measurements.push_back(copy("p2p-write.copy.4KiB", "amd:0", "amd:1", 1e9, 4096));
  file.measurements.push_back(copy("p2p-bidir.copy.1GiB", "amd:0", "amd:1", 99e9, 1 << 30));
  report::Measurement latency = copy("p2p-write.copy.4KiB.latency", "amd:0", "amd:1", 1, 4096);
  latency.bytes_per_s.reset();
  latency.median_s = 9e-6;
  file.measurements.push_back(latency);
  report::Measurement failed = copy("p2p-write.copy.4GiB", "amd:0", "amd:1", 70e9, 1ull << 32);
  failed.status = report::Status::mismatch;
  file.measurements.push_back(failed);
  const PairCost cost = read().pairs.at({"amd:0", "amd:1"});
  CHECK(cost.bytes_per_s == 50e9);
  CHECK(cost.latency_s == 9e-6);
}

TEST_CASE_FIXTURE(Measured, "costs: host memory of each NUMA node with its distance") {
  file.measurements = {copy("h2d.pinned.copy.256MiB.node0", "host:0", "amd:0", 55e9),
                       copy("h2d.pinned.copy.256MiB.node1", "host:1", "amd:0", 35e9),
                       copy("d2h.pinned.copy.256MiB.node1", "amd:0", "host:1", 30e9),
                       copy("h2d.pageable.copy.256MiB.node1", "host:1", "amd:0", 5e9),
                       copy("h2d.pinned.copy.256MiB", "host", "amd:1", 55e9)};
  const TopologyCosts costs = read();
  CHECK(costs.links.empty());
  REQUIRE(costs.host.size() == 2);
  CHECK(costs.host[0].device == "amd:0");
  CHECK(costs.host[0].numa_distance == 10);
  CHECK_FALSE(costs.host[0].d2h_bytes_per_s);
  CHECK(costs.host[1].node == 1);
  CHECK(costs.host[1].numa_distance == 32);
  CHECK(costs.host[1].h2d_bytes_per_s == 35e9);
  CHECK(costs.host[1].d2h_bytes_per_s == 30e9);
}

TEST_CASE_FIXTURE(Measured, "costs: other documents, other machines and nothing measured") {
  file.devices["amd:1"].pci_bus_id = "0000:04:00.0";
  CHECK(refusal().empty());
  file.devices["amd:1"].pci_bus_id = "0000:44:00.0";
  CHECK(refusal().find("amd:1 is at 0000:44:00.0 there, at 0000:04:00.0 here") !=
        std::string::npos);
  file.devices.clear();
  file.measurements.resize(1);
  file.measurements[0].source = "amd:7";
  CHECK(refusal().find("no copies between these devices") != std::string::npos);
  file.run.command = "load";
  CHECK(refusal().find("is a document of load") != std::string::npos);
}
