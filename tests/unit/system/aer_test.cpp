// SPDX-License-Identifier: MIT
#include "system/aer.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

TEST_CASE("aer: the totals of a device and of each port above it that has them") {
  const SyntheticTree tree;
  const std::string port = "sys/devices/pci0000:00/0000:00:01.0";
  const std::string device = port + "/0000:01:00.0";
  tree.link("sys/bus/pci/devices/0000:00:01.0", "../../../../" + port);
  tree.link("sys/bus/pci/devices/0000:01:00.0", "../../../../" + device);
  tree.write(port + "/aer_dev_correctable", "Receiver Error 2\nBad TLP 1\nTOTAL_ERR_COR 3");
  tree.write(port + "/aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 1");
  tree.write(port + "/aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 4");
  tree.write(device + "/vendor", "0x1002");
  auto counts = read_aer(tree.root(), "0000:01:00.0");
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].bus_id == "0000:00:01.0");
  CHECK(counts[0].corrected == 3);
  CHECK(counts[0].uncorrected == 5);
  tree.write(device + "/aer_dev_correctable", "TOTAL_ERR_COR 7");
  counts = read_aer(tree.root(), "0000:01:00.0");
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].bus_id == "0000:01:00.0");
  CHECK(counts[0].corrected == 7);
  CHECK_FALSE(counts[0].uncorrected);
  CHECK(read_aer(tree.root(), "0000:02:00.0").empty());
}

TEST_CASE("aer: a file of another form is no count") {
  const SyntheticTree tree;
  tree.add_pci("0000:01:00.0", "0x10de", "0x2335", "0x030200", "");
  for (const char* text : {"", "TOTAL_ERR_COR", "TOTAL_ERR_COR x", "Bad TLP 0"}) {
    CAPTURE(text);
    tree.write("sys/bus/pci/devices/0000:01:00.0/aer_dev_correctable", text);
    CHECK(read_aer(tree.root(), "0000:01:00.0").empty());
  }
}
