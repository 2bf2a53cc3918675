// SPDX-License-Identifier: MIT
#include "system/nic.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using hiptool::system::list_nics;
using hiptool::system::Nic;
using hiptool::system::SyntheticTree;

namespace {

void add_class(const SyntheticTree& tree, const std::string& kind, const std::string& name,
               const std::string& device) {
  tree.write("sys/devices/" + device + "/vendor", "0x15b3");
  tree.write("sys/class/" + kind + "/" + name + "/marker", "");
  tree.link("sys/class/" + kind + "/" + name + "/device", "../../../devices/" + device);
}

}  // namespace

TEST_CASE("nics: an RDMA device and its interface are one card") {
  const SyntheticTree tree;
  const std::string device = "pci0000:15/0000:15:01.0/0000:18:00.0";
  add_class(tree, "infiniband", "mlx5_0", device);
  tree.write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  tree.write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  add_class(tree, "net", "ib0", device);
  tree.write("sys/class/net/ib0/operstate", "down");
  const auto nics = list_nics(tree.root());
  REQUIRE(nics.size() == 1);
  CHECK(nics[0].name == "mlx5_0");
  CHECK(nics[0].bus_id == "0000:18:00.0");
  CHECK(nics[0].has_rdma);
  CHECK(nics[0].interfaces == std::vector<std::string>{"ib0"});
  CHECK(nics[0].is_up == true);
  CHECK(nics[0].bits_per_s == 400e9);
}

TEST_CASE("nics: interfaces by bus id, with the speed of a link that is up") {
  const SyntheticTree tree;
  add_class(tree, "net", "eth1", "pci0000:00/0000:04:00.0");
  tree.write("sys/class/net/eth1/operstate", "up");
  tree.write("sys/class/net/eth1/speed", "25000");
  add_class(tree, "net", "eth0", "pci0000:00/0000:03:00.0/virtio1");
  tree.write("sys/class/net/eth0/operstate", "unknown");
  tree.write("sys/class/net/eth0/speed", "-1");
  const auto nics = list_nics(tree.root());
  REQUIRE(nics.size() == 2);
  CHECK(nics[0].name == "eth0");
  CHECK(nics[0].bus_id == "0000:03:00.0");
  CHECK_FALSE(nics[0].has_rdma);
  CHECK_FALSE(nics[0].is_up);
  CHECK_FALSE(nics[0].bits_per_s);
  CHECK(nics[1].is_up == true);
  CHECK(nics[1].bits_per_s == 25e9);
}

TEST_CASE("nics: ports without a link have no rate") {
  const SyntheticTree tree;
  add_class(tree, "infiniband", "mlx5_1", "pci0000:15/0000:19:00.0");
  tree.write("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN");
  tree.write("sys/class/infiniband/mlx5_1/ports/1/rate", "10 Gb/sec (4X SDR)");
  const auto nics = list_nics(tree.root());
  REQUIRE(nics.size() == 1);
  CHECK(nics[0].is_up == false);
  CHECK_FALSE(nics[0].bits_per_s);
}

TEST_CASE("nics: virtual and USB interfaces are no cards; no /sys, no cards") {
  const SyntheticTree tree;
  tree.write("sys/class/net/lo/operstate", "unknown");
  tree.write("sys/class/net/bonding_masters", "");
  add_class(tree, "net", "usb0", "pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0");
  CHECK(list_nics(tree.root()).empty());
  CHECK(list_nics(tree.root() / "nowhere").empty());
}
