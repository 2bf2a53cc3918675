// SPDX-License-Identifier: MIT
#include "system/kfd.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

TEST_CASE("names of processors from the kernel's number") {
  CHECK(gfx_name("90402") == "gfx942");
  CHECK(gfx_name("90010") == "gfx90a");
  CHECK(gfx_name("90012") == "gfx90c");
  CHECK(gfx_name("80003") == "gfx803");
  CHECK(gfx_name("100300") == "gfx1030");
  CHECK(gfx_name("110501") == "gfx1151");
  CHECK(gfx_name("120001") == "gfx1201");
  for (const char* none :
       {"", "0", "x", "90402x", "-90402", "9999", "90017", "91700", "99999999999999999999"}) {
    CAPTURE(none);
    CHECK(gfx_name(none).empty());
  }
}

TEST_CASE("synthetic topology: CPUs are no GPUs, what cannot be read is counted") {
  const SyntheticTree tree;
  CHECK(read_kfd_topology(tree.root()).nodes == 0);
  tree.add_kfd_node(0, "0", 0);
  tree.add_kfd_node(1, "51216", 128);
  tree.write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "777");
  tree.write("sys/class/kfd/kfd/topology/nodes/2/properties", "gfx_target_version 100300");
  tree.write("sys/class/kfd/kfd/topology/nodes/3/name", "");
  const KfdTopology topology = read_kfd_topology(tree.root());
  CHECK(topology.nodes == 4);
  CHECK(topology.unreadable == 1);
  REQUIRE(topology.gpus.size() == 2);
  CHECK(topology.gpus[0].arch == "gfx942");
  CHECK(topology.gpus[0].render_minor == "128");
  CHECK(topology.gpus[1].arch == "gfx1030");
  CHECK(topology.gpus[1].render_minor.empty());
}
