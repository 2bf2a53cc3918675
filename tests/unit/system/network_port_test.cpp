// SPDX-License-Identifier: MIT
#include "system/network_port.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using hiptool::system::NetworkPort;
using hiptool::system::PortKind;
using hiptool::system::read_network_ports;
using hiptool::system::SyntheticTree;

TEST_CASE("network ports: state, rate and errors of InfiniBand, RoCE and Ethernet") {
  const SyntheticTree tree;
  const std::string infiniband = "sys/class/infiniband/mlx5_0/";
  tree.write(infiniband + "hca_type", "MT4129");
  tree.write(infiniband + "ports/1/link_layer", "InfiniBand");
  tree.write(infiniband + "ports/1/state", "2: INIT");
  tree.write(infiniband + "ports/1/phys_state", "5: LinkUp");
  tree.write(infiniband + "ports/1/rate", "400 Gb/sec (4X NDR)");
  tree.write(infiniband + "ports/1/counters/symbol_error", "7");
  tree.write(infiniband + "ports/1/counters/port_rcv_data", "999");
  const std::string roce = "sys/class/infiniband/mlx5_1/";
  tree.write(roce + "ports/1/link_layer", "Ethernet");
  tree.write(roce + "ports/1/state", "1: DOWN");
  tree.write(roce + "ports/1/phys_state", "3: Disabled");
  tree.write(roce + "ports/1/rate", "40 Gb/sec (4X QDR)");
  tree.write("sys/class/net/eth0/device/vendor", "0x15b3");
  tree.write("sys/class/net/eth0/operstate", "up");
  tree.write("sys/class/net/eth0/speed", "100000");
  tree.write("sys/class/net/eth0/statistics/rx_crc_errors", "3");
  tree.write("sys/class/net/lo/operstate", "unknown");
  const auto ports = read_network_ports(tree.root());
  REQUIRE(ports.size() == 3);
  const NetworkPort& first = ports[0];
  CHECK(first.name == "mlx5_0/1");
  CHECK(first.kind == PortKind::infiniband);
  CHECK(first.model == "MT4129");
  CHECK(first.state == "INIT");
  CHECK_FALSE(first.is_up);
  CHECK(first.has_link);
  CHECK(first.bits_per_s == 400e9);
  CHECK(first.errors == std::map<std::string, std::uint64_t>{{"symbol_error", 7}});
  const NetworkPort& second = ports[1];
  CHECK(second.kind == PortKind::roce);
  CHECK(second.state == "DOWN");
  CHECK_FALSE(second.has_link);
  CHECK_FALSE(second.bits_per_s.has_value());
  const NetworkPort& third = ports[2];
  CHECK(third.name == "eth0");
  CHECK(third.kind == PortKind::ethernet);
  CHECK(third.is_up);
  CHECK(third.bits_per_s == 100e9);
  CHECK(third.errors == std::map<std::string, std::uint64_t>{{"rx_crc_errors", 3}});
}

TEST_CASE("network ports: a machine without any") {
  const SyntheticTree tree;
  CHECK(read_network_ports(tree.root()).empty());
}
