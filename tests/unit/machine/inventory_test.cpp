// SPDX-License-Identifier: MIT
#include "machine/inventory.hpp"

#include <doctest/doctest.h>

using namespace hiptool;
using namespace hiptool::machine;

namespace {

DeviceFacts device_with_link(const system::PciLink& link) {
  DeviceFacts facts;
  facts.pci.emplace();
  facts.pci->link = link;
  return facts;
}

}  // namespace

TEST_CASE("the link's peak is that of the speed it can have, not of the idle one") {
  DeviceFacts device = device_with_link({2.5, 16, 32.0, 16});
  REQUIRE(link_peak_bytes_per_s(device));
  CHECK(*link_peak_bytes_per_s(device) == doctest::Approx(63.015e9).epsilon(0.001));
  device.pci->link = {8.0, 4, {}, {}};
  CHECK(*link_peak_bytes_per_s(device) == doctest::Approx(3.938e9).epsilon(0.001));
  device.pci->link = {};
  CHECK_FALSE(link_peak_bytes_per_s(device));
  CHECK_FALSE(link_peak_bytes_per_s(DeviceFacts()));
}

TEST_CASE("a board's own switch does not hide the slower link to the machine") {
  DeviceFacts device = device_with_link({2.5, 16, 32.0, 16});
  device.path.hops = {{"0000:65:00.0", {16.0, 16, 32.0, 16}}, {"0000:64:00.0", {8.0, 8, 16.0, 8}}};
  CHECK(link_of(device).speed_gt_s == 8.0);
  CHECK(link_of(device).width == 8);
  CHECK(link_of(device).max_speed_gt_s == 16.0);
  CHECK(link_of(device).max_width == 8);
  CHECK(*link_peak_bytes_per_s(device) == doctest::Approx(15.754e9).epsilon(0.001));
}
