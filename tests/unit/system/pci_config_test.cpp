// SPDX-License-Identifier: MIT
#include "system/pci_config.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

// A configuration space with an AER capability at 0x100 and one of ACS at 0x148.
std::string config_with(char control, std::size_t size = 4096) {
  std::string bytes(4096, '\0');
  bytes[0x100] = 1;
  bytes[0x102] = char(0x81);  // version 1, next at 0x148
  bytes[0x103] = 0x14;
  bytes[0x148] = 0x0d;
  bytes[0x14a] = 1;
  bytes[0x14e] = control;
  bytes.resize(size);
  return bytes;
}

PeerRouting routing_of(const std::string& config) {
  const SyntheticTree tree;
  tree.write("sys/bus/pci/devices/0000:01:00.0/config", config);
  return read_peer_routing(tree.root(), "01:00.0");
}

}  // namespace

TEST_CASE("pci config: bits 2 and 3 of the ACS control redirect") {
  CHECK(routing_of(config_with(0)) == PeerRouting::direct);
  CHECK(routing_of(config_with(0x01)) == PeerRouting::direct);
  CHECK(routing_of(config_with(0x04)) == PeerRouting::redirected);
  CHECK(routing_of(config_with(0x08)) == PeerRouting::redirected);
  CHECK(routing_of(config_with(0x1d)) == PeerRouting::redirected);
}

TEST_CASE("pci config: what only root may read is unknown, a bridge without ACS is direct") {
  CHECK(routing_of(config_with(0x1d, 0x200).substr(0, 64)) == PeerRouting::unknown);
  CHECK(routing_of(config_with(0x1d, 0x200).substr(0, 255)) == PeerRouting::unknown);
  CHECK(routing_of(std::string(4096, '\0')) == PeerRouting::direct);
  const SyntheticTree tree;
  CHECK(read_peer_routing(tree.root(), "01:00.0") == PeerRouting::unknown);
  CHECK(read_peer_routing(tree.root(), "no bus id") == PeerRouting::unknown);
}

TEST_CASE("pci config: a chain that turns back or leaves the space ends") {
  std::string turning = config_with(0x1d);
  turning[0x102] = 0x01;
  turning[0x103] = 0x10;  // next at 0x100 again
  CHECK(routing_of(turning) == PeerRouting::direct);
  std::string leaving = config_with(0x1d, 0x14c);
  CHECK(routing_of(leaving) == PeerRouting::direct);
  std::string broken(4096, '\xff');
  CHECK(routing_of(broken) == PeerRouting::direct);
}
