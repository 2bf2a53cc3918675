// SPDX-License-Identifier: MIT
#include "system/kfd_links.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";

}  // namespace

TEST_CASE("kfd links: bus ids, architectures and both kinds of links, by number of node") {
  const SyntheticTree tree;
  tree.write(nodes + "0/gpu_id", "0");
  tree.write(nodes + "10/gpu_id", "77");
  tree.write(nodes + "2/gpu_id", "12345");
  tree.write(nodes + "2/properties",
             "simd_count 1216\ngfx_target_version 90402\nlocation_id 50433\ndomain 1\n"
             "drm_render_minor 128");
  tree.write(nodes + "2/io_links/0/properties",
             "type 11\nnode_from 2\nnode_to 10\nweight 15\nmax_bandwidth 64000");
  tree.write(nodes + "2/p2p_links/0/properties", "type 2\nnode_from 2\nnode_to 0\nweight 20");
  const auto found = read_kfd_nodes(tree.root());
  REQUIRE(found.size() == 3);
  CHECK_FALSE(found[0].is_gpu);
  CHECK(found[1].number == 2);
  CHECK(found[2].number == 10);
  CHECK(found[1].arch == "gfx942");
  CHECK(found[1].bus_id == "0001:c5:00.1");
  CHECK(found[1].render_minor == "128");
  REQUIRE(found[1].links.size() == 2);
  CHECK(found[1].links[0].type == KfdLink::xgmi);
  CHECK(found[1].links[0].to_node == 10);
  CHECK(found[1].links[0].max_bandwidth_mb_s == 64000);
  CHECK(found[1].links[1].type == KfdLink::pcie);
  CHECK(found[1].links[1].weight == 20);
}

TEST_CASE("kfd links: a node that a container may not read is no CPU") {
  const SyntheticTree tree;
  tree.write(nodes + "1/name", "ip discovery");
  const auto found = read_kfd_nodes(tree.root());
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].is_gpu);
  CHECK_FALSE(found[0].is_readable);
  const SyntheticTree empty;
  CHECK(read_kfd_nodes(empty.root()).empty());
}
