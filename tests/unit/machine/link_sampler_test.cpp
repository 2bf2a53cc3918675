// SPDX-License-Identifier: MIT
#include "machine/link_sampler.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "support.hpp"
#include "system/pci.hpp"

using namespace hiptool;
using machine::LinkObservation;
using machine::LinkSampler;

namespace {

constexpr const char* bus_id = "0000:65:00.0";

// One device on its root bus; a synthetic /sys.
struct PciTree {
  test::TemporaryFolder folder;
  std::filesystem::path device =
      folder.path() / "sys/devices/pci0000:65" / std::filesystem::path(bus_id);

  PciTree() {
    std::filesystem::create_directories(device);
    const auto devices = folder.path() / "sys/bus/pci/devices";
    std::filesystem::create_directories(devices);
    std::filesystem::create_symlink(device, devices / bus_id);
    write("vendor", "0x10de");
    write("device", "0x2335");
    write("class", "0x030200");
    write("current_link_width", "16");
    write("max_link_speed", "32.0 GT/s PCIe");
    write("max_link_width", "16");
    set_speed("2.5 GT/s PCIe");
  }

  void write(const char* name, const std::string& text) const {
    std::ofstream(device / name) << text << '\n';
  }
  void set_speed(const std::string& text) const { write("current_link_speed", text); }
};

LinkSampler::Options options_for(const PciTree& tree) {
  LinkSampler::Options options;
  options.root = tree.folder.path();
  options.bus_ids = {bus_id};
  options.interval = std::chrono::milliseconds(1);
  return options;
}

}  // namespace

TEST_CASE("link sampler: the link under load is the fastest read, not the first or the last") {
  const PciTree tree;
  std::promise<void> looked_thrice;
  int looks = 0;
  LinkSampler::Options options = options_for(tree);
  options.also = [&] {
    ++looks;
    if (looks == 1) tree.set_speed("32.0 GT/s PCIe");
    if (looks == 2) tree.set_speed("8.0 GT/s PCIe");
    if (looks == 3) looked_thrice.set_value();
  };
  LinkSampler sampler(std::move(options));
  looked_thrice.get_future().wait();
  const std::vector<LinkObservation> seen = sampler.stop();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].bus_id == bus_id);
  CHECK(seen[0].fastest_bytes_per_s == system::pcie_bytes_per_s(32, 16));
  REQUIRE(seen[0].fastest);
  CHECK(seen[0].fastest->slowest_now()->link.speed_gt_s == 32);
  CHECK(sampler.stop().size() == 1);
}

TEST_CASE("link sampler: it reads at least once, however short the work is") {
  const PciTree tree;
  LinkSampler sampler(options_for(tree));
  CHECK(sampler.stop().at(0).fastest);
}

TEST_CASE("link sampler: what it may have missed while it called the other is absent") {
  const PciTree tree;
  std::promise<void> called;
  LinkSampler::Options options = options_for(tree);
  options.longest_call = std::chrono::milliseconds(0);
  bool is_first = true;
  options.also = [&] {
    if (std::exchange(is_first, false)) called.set_value();
  };
  LinkSampler sampler(std::move(options));
  called.get_future().wait();
  const std::vector<LinkObservation> seen = sampler.stop();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].bus_id == bus_id);
  CHECK_FALSE(seen[0].fastest);
  CHECK_FALSE(seen[0].fastest_bytes_per_s);
}

TEST_CASE("link sampler: a device that reports nothing has no path") {
  const PciTree tree;
  LinkSampler::Options options = options_for(tree);
  options.bus_ids = {"0000:09:00.0", bus_id};
  LinkSampler sampler(std::move(options));
  const std::vector<LinkObservation> seen = sampler.stop();
  REQUIRE(seen.size() == 2);
  CHECK_FALSE(seen[0].fastest_bytes_per_s);
  CHECK_FALSE(seen[0].fastest);
  CHECK(seen[1].fastest);
}
