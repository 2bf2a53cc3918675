// SPDX-License-Identifier: MIT
#include "results/devices/topology.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "../../../system/synthetic_tree.hpp"
#include "harness.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::string text_of_tables(const results::TopologyFindings& topology, std::size_t width) {
  report::Report report;
  report.run.passed = true;
  report.tables = results::topology_tables(topology);
  report.notes = results::topology_notes(topology);
  return report::to_table(report, {width, false, true});
}

// A GPU below a switch with a card, and one on the other node.
class Tree : public system::SyntheticTree {
 public:
  Tree() {
    add("pci0000:15/0000:15:01.0", "0", "0-31");
    add("pci0000:15/0000:15:01.0/0000:16:00.0", "0", "0-31");
    add("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0", "0", "0-31");
    add("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", "0", "0-31");
    add("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0", "0", "0-31");
    add("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0", "0", "0-31");
    add("pci0000:80/0000:80:01.0", "1", "32-63");
    add("pci0000:80/0000:80:01.0/0000:81:00.0", "1", "32-63");
    write("sys/devices/system/node/online", "0-1");
    write("sys/devices/system/node/node0/distance", "10 21");
    write("sys/devices/system/node/node1/distance", "21 10");
    write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
    write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
    link("sys/class/infiniband/mlx5_0/device", "../../../bus/pci/devices/0000:19:00.0");
  }

 private:
  void add(const std::string& path, const std::string& node, const std::string& cpus) const {
    const std::string folder = "sys/devices/" + path;
    write(folder + "/vendor", "0x10de");
    write(folder + "/device", "0x2335");
    write(folder + "/class", "0x030200");
    write(folder + "/numa_node", node);
    write(folder + "/local_cpulist", cpus);
    const std::string name = path.substr(path.rfind('/') + 1);
    link("sys/bus/pci/devices/" + name, "../../../../" + folder);
  }
};

machine::Inventory two_gpus() {
  machine::Inventory inventory;
  for (const char* bus_id : {"0000:18:00.0", "0000:81:00.0"}) {
    machine::DeviceFacts& device = inventory.devices.emplace_back();
    device.platform = Platform::nvidia;
    device.ordinal = static_cast<int>(inventory.devices.size()) - 1;
    device.id = "nvidia:" + std::to_string(device.ordinal);
    device.info.pci_bus_id = bus_id;
  }
  machine::DeviceFacts& host = inventory.devices.emplace_back();
  host.id = "cpu:0";
  return inventory;
}

report::RunFile measured_run() {
  report::RunFile file;
  file.path = "run.json";
  file.run.command = "bench-copy";
  const auto add = [&](const std::string& label, const std::string& from, const std::string& to,
                       double bytes_per_s) {
    report::Measurement& one = file.measurements.emplace_back();
    one.label = label;
    one.id = label + "@" + from + ">" + to;
    one.source = from;
    one.destination = to;
    one.size_bytes = 1 << 28;
    one.bytes_per_s = bytes_per_s;
  };
  add("p2p-write.copy.256MiB", "nvidia:0", "nvidia:1", 12e9);
  add("h2d.pinned.copy.256MiB.node1", "host:1", "nvidia:0", 38e9);
  return file;
}

}  // namespace

TEST_CASE("topology: GPUs, network cards, NUMA nodes, CPUs and paths for people") {
  const Tree tree;
  const results::TopologyFindings topology = results::find_topology(two_gpus(), tree.root(), {});
  const std::string text = text_of_tables(topology, 80);
  CAPTURE(text);
  CHECK(contains(text, "Links between devices\nnvidia  0    1\n0       X    SYS\n"));
  CHECK(contains(text, "network cards\nnvidia  0    1\nmlx5_0  PIX  SYS\n"));
  CHECK(contains(text, "nvidia:0     0  0-31   15:01.0 > 16:00.0 > 17:00.0 > 18:00.0\n"));
  CHECK(contains(text, "nvidia:1     1  32-63  80:01.0 > 81:00.0\n"));
  CHECK(contains(text, "mlx5_0  0000:19:00.0  yes   –           yes  50.0 GB/s\n"));
  CHECK(contains(text, "links: PIX one PCIe switch, SYS between NUMA nodes\n"));
}

TEST_CASE("topology: what the distance costs, from an earlier run") {
  const Tree tree;
  results::TopologyFindings topology = results::find_topology(two_gpus(), tree.root(), {});
  results::add_costs(measured_run(), tree.root(), topology);
  const std::string text = text_of_tables(topology, 80);
  CAPTURE(text);
  CHECK(contains(text, "SYS       1  12.0 GB/s  12.0 GB/s  12.0 GB/s        100 %\n"));
  CHECK(contains(text, "nvidia:0     1        21      38.0 GB/s        –\n"));
  CHECK(contains(text, "rates: measured by bench-copy, run.json\n"));
  report::Report report;
  report.document = {{"topology", results::topology_value(topology)}};
  const std::string json = report::to_json(report);
  CHECK(contains(json, "\"cell\": \"p2p-write.copy.256MiB@nvidia:0>nvidia:1\""));
  CHECK(contains(json, "\"h2d_bytes_per_s\": 38000000000"));
  CHECK(contains(json, "\"cpus\": \"32-63\""));
  CHECK(contains(json, "\"host_bridge\": \"pci0000:80\""));
  const report::Table pairs = results::topology_pairs(topology);
  CHECK(pairs.columns.size() == 9);
  // At 80 columns a table, not a list for each pair.
  report::Report shown;
  shown.tables = {pairs};
  shown.tables.front().rows.front()[2] = "across-nodes";
  report::TableStyle style;
  style.width = 80;
  const std::string lines = report::to_table(shown, style);
  CAPTURE(lines);
  CHECK(contains(lines, "From      To        Link "));
  CHECK(contains(lines, "\nnvidia:0  nvidia:1  across-nodes "));
  CHECK(widest_line(lines) <= 80);
  CHECK(pairs.rows.size() == 4);
}

TEST_CASE("topology: eight GPUs and ten cards fit 80 columns") {
  results::TopologyFindings topology;
  for (int i = 0; i < 8; ++i) {
    topology.ids.push_back("nvidia:" + std::to_string(i));
    machine::TopologyPlace place;
    place.id = topology.ids.back();
    place.numa_node = i / 4;
    place.cpus = "0-47,96-143";
    place.path.hops = {
        {"0000:18:00.0", {}}, {"0000:17:00.0", {}}, {"0000:16:00.0", {}}, {"0000:15:01.0", {}}};
    topology.places.push_back(place);
  }
  for (int i = 0; i < 10; ++i) {
    topology.nics.push_back(
        {"mlx5_" + std::to_string(i), "0000:19:00.0", true, {"ib0"}, true, 4e11});
  }
  for (const std::string& from : topology.ids) {
    for (const std::string& to : topology.ids) {
      if (from == to) continue;
      machine::TopologyPair& pair = topology.pairs.emplace_back();
      pair.from = from;
      pair.to = to;
      pair.kind = machine::LinkKind::nvlink;
      pair.count = 18;
      pair.peer_access = false;
    }
    for (const system::Nic& nic : topology.nics) {
      machine::TopologyPair& pair = topology.to_nics.emplace_back();
      pair.from = from;
      pair.to = nic.name;
      pair.kind = machine::LinkKind::same_node;
    }
  }
  const std::string text = text_of_tables(topology, 80);
  CAPTURE(text);
  CHECK(widest_line(text) <= 80);
  CHECK(contains(text, "\n0       X      NV18*  NV18*"));
  CHECK(contains(text, "\nmlx5_9  NODE  NODE"));
  CHECK(contains(text, "NVn n NVLinks, * no peer access\n"));
}

TEST_CASE("topology: costs that cannot be used are refused before a driver is opened") {
  const TemporaryFolder folder;
  Machine machine;
  machine.gpus = 2;
  CHECK(machine.run({"devices", "--costs", folder / "none.json"}) == 2);
  CHECK(contains(machine.err.text, "--costs belongs to --topology"));
  CHECK(machine.run({"devices", "--topology", "--costs", folder / "none.json"}) == 4);
  CHECK(machine.platforms_made == 0);
  const std::string path = folder / "run.json";
  CHECK(machine.run({"bench-copy", "--kind", "p2p-write", "--samples", "1", "--size", "64KiB",
                     "--export", "json=" + path}) == 0);
  CHECK(machine.run({"devices", "--topology", "--costs", path}) == 0);
  CHECK(contains(machine.out.text, "\n?         2 "));
  CHECK(machine.run({"devices", "--topology", "--costs", path, "--export", "json=" + path}) == 2);
  CHECK(machine.run({"bench-copy", "--kind", "h2d", "--samples", "1", "--size", "64KiB", "--export",
                     "json=" + path}) == 0);
  CHECK(machine.run({"devices", "--topology", "--costs", path}) == 2);
  CHECK(contains(machine.err.text, "has no copies between these devices"));
}
