// SPDX-License-Identifier: MIT
#include "measure/copy/bench.hpp"

#include <doctest/doctest.h>

#include "devices.hpp"
#include "system/pci.hpp"

using namespace hiptool;
using namespace hiptool::measure;

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
