// SPDX-License-Identifier: MIT
#include "measure/copy/bench.hpp"

#include <doctest/doctest.h>

#include "devices.hpp"
#include "system/pci.hpp"

using namespace hiptool;
using namespace hiptool::measure;
using namespace hiptool::machine;

namespace {

system::PciPath::Hop hop(const std::string& bus_id, double speed_gt_s, std::uint64_t width) {
  system::PciPath::Hop made;
  made.bus_id = bus_id;
  made.link.speed_gt_s = speed_gt_s;
  made.link.width = width;
  return made;
}

LinkObservation link(std::vector<system::PciPath::Hop> hops) {
  LinkObservation seen;
  seen.bus_id = hops.front().bus_id;
  seen.fastest = system::PciPath{std::move(hops)};
  seen.fastest_bytes_per_s = seen.fastest->bytes_per_s_now();
  return seen;
}

/// Two GPUs, joined by links as the driver reports them.
std::vector<system::KfdNode> neighbours(const std::string& arch, std::uint64_t parallel) {
  system::KfdNode first;
  first.number = 4;
  first.is_gpu = true;
  first.arch = arch;
  first.bus_id = "0000:01:00.0";
  system::KfdNode second = first;
  second.number = 5;
  second.bus_id = "0000:02:00.0";
  first.links = {{system::KfdLink::pcie, 5, 20, 9}, {system::KfdLink::xgmi, 5, 15, parallel}};
  return {first, second};
}

CopySpec limited_spec_of(CopyKind kind, const std::vector<Device>& devices) {
  CopySpec spec;
  spec.kind = kind;
  if (uses_host(kind)) spec.memory = HostKind::pinned;
  spec.size_bytes = 1 << 20;
  spec.devices = devices;
  return spec;
}

}  // namespace

TEST_CASE(
    "copy limits: a host copy is limited by the slowest hop, both ways at once by twice that") {
  const test::CpuDevices gpus(1, Platform::nvidia);
  const std::vector<LinkObservation> links{
      link({hop("0000:01:00.0", 32, 16), hop("0000:00:01.0", 16, 16)})};
  const double rate = system::pcie_bytes_per_s(16, 16);
  const auto one_way = limit_of(limited_spec_of(CopyKind::h2d, gpus.all()), links);
  REQUIRE(one_way);
  CHECK(one_way->bytes_per_s == rate);
  CHECK(one_way->source == "pcie-link");
  CHECK(limit_of(limited_spec_of(CopyKind::d2h, gpus.all()), links)->bytes_per_s == rate);
  CHECK(limit_of(limited_spec_of(CopyKind::bidir, gpus.all()), links)->bytes_per_s == 2 * rate);
}

TEST_CASE("copy limits: devices below one root port share it") {
  const test::CpuDevices gpus(3, Platform::nvidia);
  const auto port = hop("0000:00:01.0", 32, 16);
  const std::vector<LinkObservation> links{
      link({hop("0000:01:00.0", 32, 16), port}), link({hop("0000:02:00.0", 32, 16), port}),
      link({hop("0000:03:00.0", 8, 8), hop("0000:80:00.0", 32, 16)})};
  const auto limit = limit_of(limited_spec_of(CopyKind::h2d_all, gpus.all()), links);
  REQUIRE(limit);
  CHECK(limit->bytes_per_s ==
        doctest::Approx(system::pcie_bytes_per_s(32, 16) + system::pcie_bytes_per_s(8, 8)));
}

TEST_CASE("copy limits: unknown links, copies between devices and latencies have none") {
  const test::CpuDevices gpus(2, Platform::nvidia);
  const std::vector<LinkObservation> links{link({hop("0000:01:00.0", 32, 16)})};
  CHECK_FALSE(limit_of(limited_spec_of(CopyKind::h2d_all, gpus.all()), links));
  CHECK_FALSE(limit_of(limited_spec_of(CopyKind::h2d, gpus.all()), {}));
  CHECK_FALSE(limit_of(limited_spec_of(CopyKind::p2p_write, gpus.all()), links));
  CopySpec latency = limited_spec_of(CopyKind::h2d, {gpus[0]});
  CHECK(limit_of(latency, links));
  latency.is_latency = true;
  CHECK_FALSE(limit_of(latency, links));
}

TEST_CASE("copy limits: neighbours have their XGMI links, both ways at once twice that") {
  const test::CpuDevices gpus(2, Platform::amd);
  const CopySpec write = limited_spec_of(CopyKind::p2p_write, gpus.all());
  const auto limit = limit_of(write, {}, neighbours("gfx942", 1));
  REQUIRE(limit);
  CHECK(limit->bytes_per_s == 64e9);
  CHECK(limit->source == "xgmi-link");
  CHECK(limit_of(limited_spec_of(CopyKind::p2p_bidir, gpus.all()), {}, neighbours("gfx942", 1))
            ->bytes_per_s == 128e9);
  // The dies of a MI250X have four links to each other, 200 GB/s in a direction.
  CHECK(limit_of(write, {}, neighbours("gfx90a", 4))->bytes_per_s == 200e9);
  // AMD's 1075 GB/s of a MI355X are seven links in both directions.
  CHECK(limit_of(write, {}, neighbours("gfx950", 1))->bytes_per_s * 14 ==
        doctest::Approx(1075.2e9));
}

TEST_CASE("copy limits: no figure without a link, its number or its generation") {
  const test::CpuDevices gpus(2, Platform::amd);
  const CopySpec write = limited_spec_of(CopyKind::p2p_write, gpus.all());
  CHECK_FALSE(limit_of(write, {}, neighbours("gfx942", 0)));
  CHECK_FALSE(limit_of(write, {}, neighbours("gfx1100", 1)));
  auto apart = neighbours("gfx942", 1);
  apart[0].links.pop_back();
  CHECK_FALSE(limit_of(write, {}, apart));
  auto mixed = neighbours("gfx942", 1);
  mixed[1].arch = "gfx90a";
  CHECK_FALSE(limit_of(write, {}, mixed));
  CHECK_FALSE(
      limit_of(limited_spec_of(CopyKind::one_to_all, gpus.all()), {}, neighbours("gfx942", 1)));
}
