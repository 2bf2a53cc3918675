// SPDX-License-Identifier: MIT
#include "system/vram.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

void add_card(const SyntheticTree& tree, int minor, const std::string& bus_id,
              const std::string& total, const std::string& used) {
  const std::string folder = "sys/devices/pci0000:00/" + bus_id + "/";
  if (!total.empty()) tree.write(folder + "mem_info_vram_total", total);
  if (!used.empty()) tree.write(folder + "mem_info_vram_used", used);
  tree.write(folder + "vendor", "0x1002");
  tree.link("sys/class/drm/renderD" + std::to_string(minor) + "/device",
            "../../../devices/pci0000:00/" + bus_id);
}

}  // namespace

TEST_CASE("vram: a machine without a GPU has none") {
  const SyntheticTree tree;
  CHECK(read_vram(tree.root()).empty());
}

TEST_CASE("vram: total and use of each render node of amdgpu, by minor number") {
  const SyntheticTree tree;
  add_card(tree, 1000, "0000:C5:00.0", "17163091968", "");
  add_card(tree, 129, "0000:65:00.0", "25753026560", "1234567");
  add_card(tree, 128, "0000:03:00.0", "", "77");             // another vendor's
  add_card(tree, 130, "0000:66:00.0", "not a number", "1");  // damaged
  add_card(tree, 131, "0000:67:00.0", "25753026560", "18446744073709551616");
  tree.write("sys/class/drm/card0/device/mem_info_vram_total", "5");  // the same device again
  tree.write("sys/class/drm/renderDx/device/mem_info_vram_total", "5");
  const auto vram = read_vram(tree.root());
  REQUIRE(vram.size() == 3);
  CHECK(vram[0].bus_id == "0000:65:00.0");
  CHECK(vram[0].render_minor == 129);
  CHECK(vram[0].total_bytes == 25'753'026'560u);
  CHECK(vram[0].used_bytes == 1'234'567u);
  CHECK_FALSE(vram[1].used_bytes.has_value());
  CHECK(vram[2].bus_id == "0000:c5:00.0");
  CHECK_FALSE(vram[2].used_bytes.has_value());
}

TEST_CASE("vram: the order is that of the topology, where there is one") {
  const SyntheticTree tree;
  add_card(tree, 128, "0000:03:00.0", "100", "1");
  add_card(tree, 129, "0000:04:00.0", "200", "1");
  add_card(tree, 130, "0000:05:00.0", "300", "1");
  tree.add_kfd_node(0, "0", 0);
  tree.add_kfd_node(2, "7", 130);
  tree.add_kfd_node(10, "8", 128);
  const auto vram = read_vram(tree.root());
  REQUIRE(vram.size() == 3);
  CHECK(vram[0].render_minor == 130);
  CHECK(vram[1].render_minor == 128);
  CHECK(vram[2].render_minor == 129);
}
