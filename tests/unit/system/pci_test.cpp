// SPDX-License-Identifier: MIT
#include "system/pci.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

TEST_CASE("bus ids of all spellings become one") {
  CHECK(normalize_bus_id("0000:65:00.0") == "0000:65:00.0");
  CHECK(normalize_bus_id("00000000:C1:1F.7") == "0000:c1:1f.7");  // as CUDA writes it
  CHECK(normalize_bus_id("65:00.0") == "0000:65:00.0");
  CHECK(normalize_bus_id("5:0.0") == "0000:05:00.0");
  CHECK(normalize_bus_id("10001:65:00.0") == "10001:65:00.0");
  for (const char* text : {"", ":", ".", "65", "65:00", "0000:65:00", "x:65:00.0", "65:20.0",
                           "65:00.8", "165:00.0", "0000:65:00.0 ", "-1:00.0", "0000::00.0",
                           "0:0000:65:00.0", "123456789:65:00.0", "65:00.", "GPU-65:00.0"}) {
    CAPTURE(text);
    CHECK(normalize_bus_id(text).empty());
  }
}

TEST_CASE("link rates after line coding") {
  CHECK(pcie_bytes_per_s(2.5, 1) == doctest::Approx(250e6));
  CHECK(pcie_bytes_per_s(5, 16) == doctest::Approx(8e9));
  CHECK(pcie_bytes_per_s(8, 16) == doctest::Approx(15.754e9).epsilon(1e-4));
  CHECK(pcie_bytes_per_s(16, 16) == doctest::Approx(31.508e9).epsilon(1e-4));
  CHECK(pcie_bytes_per_s(32, 16) == doctest::Approx(63.015e9).epsilon(1e-4));
  CHECK(pcie_bytes_per_s(64, 16) == doctest::Approx(121e9));
  CHECK(pcie_bytes_per_s(0, 16) == 0);
  CHECK(pcie_bytes_per_s(16, 0) == 0);
}

TEST_CASE("synthetic node of eight MI300X: all found, by bus id, with link and NUMA node") {
  const SyntheticTree tree;
  for (const char* bus : {"e5", "05", "26", "46", "65", "85", "a6", "c6"}) {
    const std::string bus_id = std::string("0000:") + bus + ":00.0";
    tree.add_pci(bus_id, "0x1002", "0x74a1", "0x120000", "amdgpu");
    const std::string folder = "sys/bus/pci/devices/" + bus_id + "/";
    tree.write(folder + "numa_node", "1");
    tree.write(folder + "current_link_speed", "32.0 GT/s PCIe");
    tree.write(folder + "current_link_width", "16");
    tree.write(folder + "max_link_speed", "32.0 GT/s PCIe");
    tree.write(folder + "max_link_width", "16");
  }
  tree.add_pci("10000:01:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
  tree.add_pci("0000:00:00.0", "0x1022", "0x14a4", "0x060000", "");  // host bridge
  const auto gpus = list_gpus(tree.root());
  REQUIRE(gpus.size() == 9);
  CHECK(gpus[0].bus_id == "0000:05:00.0");
  CHECK(gpus[7].bus_id == "0000:e5:00.0");
  CHECK(gpus[8].bus_id == "10000:01:00.0");
  CHECK(gpus[0].vendor == vendor_amd);
  CHECK(gpus[0].device == 0x74a1);
  CHECK(gpus[0].class_code == 0x120000);
  CHECK(gpus[0].driver == "amdgpu");
  CHECK(gpus[0].numa_node == 1);
  CHECK(gpus[0].link.speed_gt_s == 32.0);
  CHECK(gpus[0].link.width == 16);
  CHECK(gpus[0].link.max_speed_gt_s == 32.0);
  CHECK(gpus[0].link.max_width == 16);
  const auto identified = identify_gpus(tree.root());
  REQUIRE(identified.size() == gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) CHECK(identified[i].bus_id == gpus[i].bus_id);
  CHECK(identified[0].device == 0x74a1);
  CHECK_FALSE(identified[0].link.width);
  CHECK(identify_gpus(tree.root(), vendor_nvidia).empty());
}

TEST_CASE("synthetic desktop: RX 7900, integrated AMD GPU, sound and a card of another make") {
  const SyntheticTree tree;
  tree.add_pci("0000:03:00.0", "0x1002", "0x744c", "0x030000", "amdgpu");
  tree.add_pci("0000:03:00.1", "0x1002", "0xab30", "0x040300", "snd_hda_intel");
  tree.add_pci("0000:12:00.0", "0x1002", "0x164e", "0x030000", "amdgpu");
  tree.add_pci("0000:13:00.0", "0x8086", "0x56a0", "0x030000", "i915");
  tree.write("sys/bus/pci/devices/0000:03:00.0/numa_node", "-1");
  const auto gpus = list_gpus(tree.root());
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].device == 0x744c);
  CHECK(gpus[1].device == 0x164e);
  CHECK_FALSE(gpus[0].numa_node);
  CHECK_FALSE(gpus[0].link.speed_gt_s);
}

TEST_CASE("the first GPU of a vendor by bus id") {
  const SyntheticTree tree;
  CHECK(find_gpu(tree.root(), vendor_amd).empty());
  tree.add_pci("0000:85:00.0", "0x1002", "0x74a1", "0x120000", "");
  tree.add_pci("0000:65:00.0", "0x1002", "0x744c", "0x030000", "");
  tree.add_pci("0000:01:00.0", "0x10de", "0x2335", "0x030200", "");
  CHECK(find_gpu(tree.root(), vendor_amd) == "0000:65:00.0");
}

TEST_CASE("one device by its bus id, of any kind") {
  const SyntheticTree tree;
  tree.add_pci("0000:c1:00.0", "0x8086", "0x1234", "0x020000", "");
  CHECK(find_pci_device(tree.root(), "00000000:C1:00.0")->device == 0x1234);
  CHECK(find_pci_device(tree.root(), "c1:00.0")->driver.empty());
  CHECK_FALSE(find_pci_device(tree.root(), "c2:00.0"));
  CHECK_FALSE(find_pci_device(tree.root(), "../../x"));
}

TEST_CASE("broken entries of a synthetic sysfs are left out, broken links unknown") {
  const SyntheticTree tree;
  CHECK(list_gpus(tree.root()).empty());
  CHECK(list_gpus(tree.root() / "missing").empty());
  tree.add_pci("0000:01:00.0", "garbage", "0x2335", "0x030200", "nvidia");
  tree.add_pci("0000:02:00.0", "0x10de", "0x2335", "", "nvidia");
  tree.add_pci("0000:03:00.0", "0x10dexyz", "0x2335", "0x030200", "nvidia");
  tree.add_pci("0000:04:00.0", "0x10de", "0x1ffffffff", "0x030200", "nvidia");
  tree.add_pci("0000:05:00.0", "10de", "0x2335", "0x030200", "nvidia");
  tree.add_pci("not-a-bus-id", "0x10de", "0x2335", "0x030200", "nvidia");
  tree.write("sys/bus/pci/devices/0000:06:00.0/vendor", "0x10de");  // class is missing
  tree.write("sys/bus/pci/devices/0000:06:00.0/device", "0x2335");
  CHECK(list_gpus(tree.root()).empty());

  tree.add_pci("0000:07:00.0", "0x10de", "0x2335", "0x030200", "nvidia");
  const std::string folder = "sys/bus/pci/devices/0000:07:00.0/";
  tree.write(folder + "current_link_speed", "Unknown");
  tree.write(folder + "current_link_width", "0");
  tree.write(folder + "max_link_speed", "-8 GT/s");
  tree.write(folder + "max_link_width", "255");
  tree.write(folder + "numa_node", "one");
  const auto gpus = list_gpus(tree.root());
  REQUIRE(gpus.size() == 1);
  CHECK_FALSE(gpus[0].link.speed_gt_s);
  CHECK_FALSE(gpus[0].link.width);
  CHECK_FALSE(gpus[0].link.max_speed_gt_s);
  CHECK_FALSE(gpus[0].link.max_width);
  CHECK_FALSE(gpus[0].numa_node);
}
