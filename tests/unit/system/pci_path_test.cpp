// SPDX-License-Identifier: MIT
#include "system/pci_path.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

struct Port {
  std::string bus_id;
  std::string speed;
  std::string width;
  std::string max_speed = "32.0 GT/s PCIe";
  std::string max_width = "16";
};

// Ports from the root port down to the device, as the kernel nests them.
class PciTree : public SyntheticTree {
 public:
  void add(const std::vector<Port>& ports) const {
    std::string folder = "sys/devices/pci0000:00";
    for (const Port& port : ports) {
      folder += "/" + port.bus_id;
      write(folder + "/vendor", "0x1002");
      write(folder + "/device", "0x744c");
      write(folder + "/class", "0x030000");
      write(folder + "/current_link_speed", port.speed);
      write(folder + "/current_link_width", port.width);
      write(folder + "/max_link_speed", port.max_speed);
      write(folder + "/max_link_width", port.max_width);
      link("sys/bus/pci/devices/" + port.bus_id, "../../../../" + folder);
    }
  }
};

}  // namespace

TEST_CASE("pci path: a board's own switch hides the link to the machine, the walk finds it") {
  const PciTree tree;
  tree.add({{"0000:00:01.1", "16.0 GT/s PCIe", "8"},
            {"0000:01:00.0", "16.0 GT/s PCIe", "8", "16.0 GT/s PCIe"},
            {"0000:02:00.0", "32.0 GT/s PCIe", "16"},
            {"0000:03:00.0", "32.0 GT/s PCIe", "16"}});
  const PciPath path = read_pci_path(tree.root(), "03:00.0");
  REQUIRE(path.hops.size() == 4);
  CHECK(path.hops.front().bus_id == "0000:03:00.0");
  CHECK(path.hops.back().bus_id == "0000:00:01.1");
  REQUIRE(path.slowest_now() != nullptr);
  CHECK(path.slowest_now()->bus_id == "0000:01:00.0");
  CHECK(path.bytes_per_s_now() == pcie_bytes_per_s(16, 8));
  CHECK(path.slowest_at_best()->bus_id == "0000:01:00.0");
  CHECK(path.bytes_per_s_at_best() == pcie_bytes_per_s(16, 16));
}

TEST_CASE("pci path: a hop that does not say its link does not count") {
  const PciTree tree;
  tree.add({{"0000:00:01.1", "Unknown", "0", "Unknown", "255"},
            {"0000:01:00.0", "2.5 GT/s PCIe", "4", "32.0 GT/s PCIe", "16"}});
  const PciPath path = read_pci_path(tree.root(), "0000:01:00.0");
  CHECK(path.hops.size() == 2);
  CHECK(path.bytes_per_s_now() == pcie_bytes_per_s(2.5, 4));
  CHECK(path.slowest_at_best()->bus_id == "0000:01:00.0");
}

TEST_CASE("pci path: a device that is not there, or is no bus id") {
  const PciTree tree;
  for (const char* bus_id : {"0000:09:00.0", "gpu", ""}) {
    const PciPath path = read_pci_path(tree.root(), bus_id);
    CHECK(path.hops.empty());
    CHECK(path.slowest_now() == nullptr);
    CHECK_FALSE(path.bytes_per_s_now());
    CHECK_FALSE(path.bytes_per_s_at_best());
  }
}
