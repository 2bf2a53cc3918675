// SPDX-License-Identifier: MIT
#include "system/kfd.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";

}  // namespace

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

TEST_CASE("kfd caches: of data, the largest of each level") {
  const SyntheticTree tree;
  tree.write(nodes + "2/gpu_id", "12345");
  tree.write(nodes + "2/properties", "location_id 50433\ndomain 1");
  const auto cache = [&](int number, const std::string& text) {
    tree.write(nodes + "2/caches/" + std::to_string(number) + "/properties", text);
  };
  cache(0, "level 1\nsize 32\ntype 9");
  cache(1, "level 1\nsize 16\ntype 9");
  cache(2, "level 1\nsize 64\ntype 10");  // instructions
  cache(3, "level 2\nsize 4096\ntype 9");
  cache(4, "level 3\nsize 262144\ntype 9");
  const std::map<int, std::uint64_t> expected{{1, 32u << 10}, {2, 4u << 20}, {3, 256u << 20}};
  CHECK(kfd_data_caches(tree.root(), "0001:c5:00.1") == expected);
  CHECK(kfd_data_caches(tree.root(), "0001:c5:00.0").empty());
  CHECK(kfd_data_caches(tree.root(), "").empty());
}

TEST_CASE("kfd nodes: CPUs are no GPUs, what cannot be read is marked") {
  const SyntheticTree tree;
  CHECK(read_kfd_nodes(tree.root()).empty());
  tree.add_kfd_node(0, "0", 0);
  tree.add_kfd_node(1, "51216", 128);
  tree.write(nodes + "2/gpu_id", "777");
  tree.write(nodes + "2/properties", "gfx_target_version 100300");
  tree.write(nodes + "3/name", "");
  const auto found = read_kfd_nodes(tree.root());
  REQUIRE(found.size() == 4);
  CHECK_FALSE(found[0].is_gpu);
  CHECK(found[1].arch == "gfx942");
  CHECK(found[1].render_minor == "128");
  CHECK(found[2].is_gpu);
  CHECK(found[2].arch == "gfx1030");
  CHECK(found[2].render_minor.empty());
  CHECK(found[2].is_readable);
  CHECK_FALSE(found[3].is_readable);
}

TEST_CASE("kfd nodes: bus ids, architectures and both kinds of links, by number of node") {
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
  CHECK(found[1].links[1].type == KfdLink::pcie);
  CHECK(found[1].links[1].weight == 20);
}

TEST_CASE("kfd nodes: a node that a container may not read is no CPU") {
  const SyntheticTree tree;
  tree.write(nodes + "1/name", "ip discovery");
  const auto found = read_kfd_nodes(tree.root());
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].is_gpu);
  CHECK_FALSE(found[0].is_readable);
  const SyntheticTree empty;
  CHECK(read_kfd_nodes(empty.root()).empty());
}

TEST_CASE("kfd nodes: parallel XGMI links are counted by the bandwidth of one") {
  const SyntheticTree tree;
  tree.write(nodes + "1/gpu_id", "12345");
  const std::string link = "type 11\nnode_from 1\nnode_to 2\nweight 15\n";
  tree.write(nodes + "1/io_links/0/properties", link + "min_bandwidth 50000\nmax_bandwidth 200000");
  tree.write(nodes + "1/io_links/1/properties", link + "min_bandwidth 0\nmax_bandwidth 0");
  tree.write(nodes + "1/io_links/2/properties", link + "max_bandwidth 64000");
  const auto found = read_kfd_nodes(tree.root());
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].links.size() == 3);
  CHECK(found[0].links[0].parallel == 4);
  CHECK(found[0].links[1].parallel == 0);
  CHECK(found[0].links[2].parallel == 0);
}
