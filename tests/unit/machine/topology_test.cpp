// SPDX-License-Identifier: MIT
#include "machine/topology.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "../system/synthetic_tree.hpp"

using namespace hiptool;
using namespace hiptool::machine;

namespace {

class Board : public system::SyntheticTree {
 public:
  // Each part of `way` is a folder below sys/devices, the last one the device.
  void add(const std::string& way, const std::string& node) const {
    std::string folder = "sys/devices";
    std::size_t start = 0;
    while (start < way.size()) {
      const auto end = std::min(way.find('/', start), way.size());
      const std::string part = way.substr(start, end - start);
      folder += "/" + part;
      start = end + 1;
      if (part.rfind("pci", 0) == 0) continue;
      if (std::filesystem::exists(root() / folder / "vendor")) continue;
      write(folder + "/vendor", "0x1002");
      write(folder + "/device", "0x74a1");
      write(folder + "/class", "0x120000");
      write(folder + "/numa_node", node);
      link("sys/bus/pci/devices/" + part, "../../../../" + folder);
    }
  }
};

// Two below one switch, one at another root port, one on the other host bridge, one on node 1.
struct Machine {
  Board board;
  std::vector<TopologyDevice> devices{{"amd:0", Platform::amd, "0000:03:00.0", {}},
                                      {"amd:1", Platform::amd, "0000:04:00.0", {}},
                                      {"amd:2", Platform::amd, "0000:11:00.0", {}},
                                      {"amd:3", Platform::amd, "0000:41:00.0", {}},
                                      {"amd:4", Platform::amd, "0000:81:00.0", {}}};
  Machine() {
    board.add("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0");
    board.add("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", "0");
    board.add("pci0000:00/0000:00:02.0/0000:11:00.0", "0");
    board.add("pci0000:40/0000:40:01.0/0000:41:00.0", "0");
    board.add("pci0000:80/0000:80:01.0/0000:81:00.0", "1");
    board.write("sys/devices/system/node/online", "0-1");
    board.write("sys/devices/system/node/node0/distance", "10 32");
    board.write("sys/devices/system/node/node1/distance", "32 10");
  }
  TopologyPair pair(const std::string& from, const std::string& to, const AskPeer& ask = {}) const {
    for (const TopologyPair& pair : read_topology(board.root(), devices, ask)) {
      if (pair.from == from && pair.to == to) return pair;
    }
    FAIL("no such pair");
    return {};
  }
};

const std::string kfd = "sys/class/kfd/kfd/topology/nodes/";

}  // namespace

TEST_CASE("topology: the kind of way by what the PCI paths share") {
  const Machine machine;
  CHECK(machine.pair("amd:0", "amd:1").kind == LinkKind::pcie_switch);
  CHECK(machine.pair("amd:0", "amd:1").hops == 3);
  CHECK(machine.pair("amd:1", "amd:0").hops == 3);
  CHECK(machine.pair("amd:0", "amd:2").kind == LinkKind::pcie_root);
  CHECK(machine.pair("amd:0", "amd:2").hops == 4);
  CHECK(machine.pair("amd:0", "amd:3").kind == LinkKind::same_node);
  CHECK(machine.pair("amd:0", "amd:4").kind == LinkKind::across_nodes);
  CHECK(machine.pair("amd:0", "amd:3").numa_distance == 10);
  CHECK(machine.pair("amd:0", "amd:4").numa_distance == 32);
  CHECK(read_topology(machine.board.root(), machine.devices, {}).size() == 20);
}

TEST_CASE("topology: what is not on the bus is unknown, not near") {
  Machine machine;
  machine.devices.push_back({"amd:5", Platform::amd, "0000:99:00.0", {}});
  machine.devices.push_back({"amd:6", Platform::amd, "", {}});
  for (const char* other : {"amd:5", "amd:6"}) {
    const TopologyPair pair = machine.pair("amd:0", other);
    CHECK(pair.kind == LinkKind::unknown);
    CHECK_FALSE(pair.hops);
    CHECK_FALSE(pair.numa_distance);
    CHECK_FALSE(pair.source.empty());
  }
}

TEST_CASE("topology: nodes that are not told make a way unknown on a machine with several") {
  Machine machine;
  machine.board.write("sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/numa_node", "-1");
  CHECK(machine.pair("amd:0", "amd:4").kind == LinkKind::unknown);
  machine.board.write("sys/devices/system/node/online", "0");
  CHECK(machine.pair("amd:0", "amd:4").kind == LinkKind::same_node);
}

TEST_CASE("topology: XGMI with its number of links and hops") {
  const Machine machine;
  machine.board.write(kfd + "1/gpu_id", "11");
  machine.board.write(kfd + "1/properties", "location_id 768");
  machine.board.write(kfd + "2/gpu_id", "22");
  machine.board.write(kfd + "2/properties", "location_id 33024");
  machine.board.write(kfd + "1/io_links/0/properties", "type 11\nnode_to 2\nweight 30");
  machine.board.write(kfd + "1/io_links/1/properties", "type 11\nnode_to 2\nweight 30");
  const TopologyPair pair = machine.pair("amd:0", "amd:4");
  CHECK(pair.kind == LinkKind::xgmi);
  CHECK(pair.count == 2);
  CHECK(pair.hops == 2);
  CHECK(pair.numa_distance == 32);
  CHECK(machine.pair("amd:4", "amd:0").kind == LinkKind::across_nodes);
}

TEST_CASE("topology: NVLink to the peer itself or through common switches") {
  Machine machine;
  for (TopologyDevice& device : machine.devices) device.platform = Platform::nvidia;
  using Ids = std::vector<std::string>;
  machine.devices[0].nvlink_remotes = Ids{"0000:04:00.0", "0000:04:00.0", "0000:f0:00.0"};
  machine.devices[1].nvlink_remotes = Ids{"0000:03:00.0", "0000:03:00.0"};
  machine.devices[4].nvlink_remotes = Ids{"0000:f0:00.0", "0000:f1:00.0"};
  machine.devices[2].nvlink_remotes = Ids{};
  CHECK(machine.pair("amd:0", "amd:1").kind == LinkKind::nvlink);
  CHECK(machine.pair("amd:0", "amd:1").count == 2);
  CHECK(machine.pair("amd:0", "amd:4").count == 1);
  CHECK(machine.pair("amd:1", "amd:4").kind == LinkKind::across_nodes);
  CHECK(machine.pair("amd:0", "amd:2").kind == LinkKind::pcie_root);
}

TEST_CASE("topology: the words of nvidia-smi topo -m") {
  const Machine machine;
  CHECK(short_code(machine.pair("amd:0", "amd:1")) == "PIX");
  CHECK(short_code(machine.pair("amd:0", "amd:2")) == "PHB");
  CHECK(short_code(machine.pair("amd:0", "amd:3")) == "NODE");
  CHECK(short_code(machine.pair("amd:0", "amd:4")) == "SYS");
  TopologyPair pair;
  CHECK(short_code(pair) == "?");
  pair.kind = LinkKind::pcie_switch;
  pair.hops = 5;
  CHECK(short_code(pair) == "PXB");
  pair.kind = LinkKind::nvlink;
  pair.count = 18;
  CHECK(short_code(pair) == "NV18");
  pair.kind = LinkKind::xgmi;
  CHECK(short_code(pair) == "XGMI");
}

TEST_CASE("topology: places with the path up to the root port, node and CPUs") {
  const Machine machine;
  machine.board.write("sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/local_cpulist", "32-63");
  const TopologyPlace far = read_place(machine.board.root(), "amd:4", "81:00.0");
  CHECK(far.id == "amd:4");
  CHECK(far.bus_id == "0000:81:00.0");
  CHECK(far.numa_node == 1);
  CHECK(far.cpus == "32-63");
  CHECK(far.host_bridge == "pci0000:80");
  REQUIRE(far.path.hops.size() == 2);
  CHECK(far.path.hops[0].bus_id == "0000:81:00.0");
  CHECK(far.path.hops[1].bus_id == "0000:80:01.0");
  const TopologyPlace none = read_place(machine.board.root(), "amd:9", "");
  CHECK(none.path.hops.empty());
  CHECK(none.host_bridge.empty());
  CHECK_FALSE(none.numa_node);
}

TEST_CASE("topology: network cards by the PCIe paths that they share with devices") {
  const Machine machine;
  machine.board.add("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0/0000:05:00.0", "0");
  machine.board.add("pci0000:80/0000:80:02.0/0000:91:00.0", "1");
  const std::vector<system::Nic> nics{{"mlx5_0", "0000:05:00.0", true, {}, {}, {}},
                                      {"eth0", "0000:91:00.0", false, {}, {}, {}}};
  const auto pairs = read_nic_topology(machine.board.root(), machine.devices, nics);
  REQUIRE(pairs.size() == 10);
  const auto code_of = [&](const std::string& device, const std::string& nic) {
    for (const TopologyPair& pair : pairs) {
      if (pair.from == device && pair.to == nic) return short_code(pair);
    }
    return std::string("absent");
  };
  CHECK(code_of("amd:0", "mlx5_0") == "PIX");
  CHECK(code_of("amd:2", "mlx5_0") == "PHB");
  CHECK(code_of("amd:3", "mlx5_0") == "NODE");
  CHECK(code_of("amd:4", "mlx5_0") == "SYS");
  CHECK(code_of("amd:4", "eth0") == "PHB");
  CHECK_FALSE(pairs.front().peer_access);
}

TEST_CASE("topology: peer access is asked within a platform only") {
  Machine machine;
  machine.devices[1].platform = Platform::nvidia;
  const AskPeer ask = [](const std::string& from, const std::string&) -> std::optional<bool> {
    if (from == "amd:2") return {};
    return from == "amd:0";
  };
  CHECK(machine.pair("amd:0", "amd:3", ask).peer_access == true);
  CHECK(machine.pair("amd:3", "amd:0", ask).peer_access == false);
  CHECK_FALSE(machine.pair("amd:2", "amd:0", ask).peer_access);
  CHECK_FALSE(machine.pair("amd:0", "amd:1", ask).peer_access);
}
