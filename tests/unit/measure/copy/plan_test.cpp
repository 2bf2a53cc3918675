// SPDX-License-Identifier: MIT
#include "measure/copy/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "devices.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

CopyRequest request_for(const std::vector<Device>& devices, std::vector<CopyTemplate> templates) {
  CopyRequest request;
  request.devices = devices;
  request.templates = std::move(templates);
  request.memories = {HostKind::pinned};
  request.sizes = {1 << 20};
  return request;
}

std::vector<std::string> ids(const std::vector<PlannedCopy>& specs) {
  std::vector<std::string> found;
  for (const PlannedCopy& planned : specs) found.push_back(id_of(planned.spec));
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("copy plan: memories, nodes and sizes multiply only what uses the host") {
  const test::CpuDevices devices(1);
  CopyRequest request = request_for(devices.all(), {{CopyKind::h2d}, {CopyKind::d2d}});
  request.memories = {HostKind::pinned, HostKind::pageable};
  request.sizes = {4096, 8192};
  request.nodes = {{0, {0}, true}, {1, {1}, false}};
  const auto specs = plan_copies(request);
  CHECK(specs.size() == 2 * 2 * 2 + 2);
  CHECK(specs.front().spec.node == 0);
  CHECK(specs.front().skip_reason.empty());
  CHECK(specs.back().spec.memory == std::nullopt);
  CHECK(specs.back().spec.node == std::nullopt);
  const auto on_second = std::count_if(specs.begin(), specs.end(), [](const PlannedCopy& planned) {
    return planned.spec.node == 1 && planned.skip_reason.find("NUMA node 1") != std::string::npos;
  });
  CHECK(on_second == 4);
}

TEST_CASE("copy plan: pairs, the one and all") {
  const test::CpuDevices devices(3);
  CHECK(ids(plan_copies(request_for(devices.all(), {{CopyKind::p2p_write}}))).size() == 6);
  CHECK(ids(plan_copies(request_for(devices.all(), {{CopyKind::p2p_bidir}}))) ==
        Texts{"p2p-bidir.copy.1MiB@cpu:0>cpu:1", "p2p-bidir.copy.1MiB@cpu:0>cpu:2",
              "p2p-bidir.copy.1MiB@cpu:1>cpu:2"});
  CHECK(ids(plan_copies(request_for(devices.all(), {{CopyKind::one_to_all}}))) ==
        Texts{"one-to-all.copy.1MiB@cpu:0>cpu:1+cpu:2", "one-to-all.copy.1MiB@cpu:1>cpu:0+cpu:2",
              "one-to-all.copy.1MiB@cpu:2>cpu:0+cpu:1"});
  CHECK(ids(plan_copies(request_for(devices.all(), {{CopyKind::d2h_all}}))) ==
        Texts{"d2h-all.pinned.copy.1MiB@cpu:0+cpu:1+cpu:2"});
  CopyTemplate beside{CopyKind::d2h};
  beside.beside = Beside::others_both_ways;
  CHECK(ids(plan_copies(request_for(devices.all(), {beside}))) ==
        Texts{"d2h.withothersbothways.pinned.copy.1MiB@cpu:0",
              "d2h.withothersbothways.pinned.copy.1MiB@cpu:1",
              "d2h.withothersbothways.pinned.copy.1MiB@cpu:2"});
  const std::vector<PlannedCopy> planned = plan_copies(request_for(devices.all(), {beside}));
  REQUIRE(planned.size() == 3);
  CHECK(planned[1].spec.devices == std::vector{devices[1], devices[0], devices[2]});
  CHECK(planned[1].skip_reason.empty());
  const test::CpuDevices single(1);
  CHECK(plan_copies(request_for(single.all(), {beside})).at(0).skip_reason ==
        "needs two devices, cpu:0 is the only one chosen");
  beside.beside = Beside::other_way;
  CHECK(plan_copies(request_for(single.all(), {beside})).at(0).skip_reason.empty());
  CHECK_FALSE(wants_several(beside));
}

TEST_CASE("copy plan: what cannot be is there with the reason") {
  const test::CpuDevices devices(1);
  for (const CopyKind kind : {CopyKind::p2p_read, CopyKind::h2d_all, CopyKind::all_to_all}) {
    const auto specs = plan_copies(request_for(devices.all(), {{kind}}));
    REQUIRE(specs.size() == 1);
    CHECK(specs[0].skip_reason == "needs two devices, cpu:0 is the only one chosen");
    CHECK_FALSE(id_of(specs[0].spec).empty());
  }
  CopyRequest request = request_for(devices.all(), {{CopyKind::h2d, CopyEngine::kernel}});
  request.memories = {HostKind::pageable};
  CHECK(plan_copies(request).at(0).skip_reason == "a kernel cannot reach pageable memory");
  request =
      request_for(devices.all(), testcase_templates("host_to_device_bidirectional_memcpy_sm"));
  request.sizes = {3072, 4096};
  CHECK(plan_copies(request).at(0).skip_reason ==
        "one kernel copies both ways, by whole warps: the size must be a multiple of 2.00 KiB");
  CHECK(plan_copies(request).at(1).skip_reason.empty());
}

TEST_CASE("copy plan: managed memory is used on GPUs only when asked for") {
  const test::CpuDevices gpus(1, Platform::nvidia);
  const test::CpuDevices cpus(1);
  CopyRequest request = request_for(gpus.all(), {{CopyKind::h2d}});
  request.memories = {HostKind::managed};
  CHECK(plan_copies(request).at(0).skip_reason.find("--memory managed") != std::string::npos);
  request.allows_managed = true;
  CHECK(plan_copies(request).at(0).skip_reason.empty());
  request.allows_managed = false;
  request.devices = cpus.all();
  CHECK(plan_copies(request).at(0).skip_reason.empty());
}

TEST_CASE("copy plan: devices of two platforms never copy to each other") {
  const test::CpuDevices gpus(2, Platform::nvidia);
  const test::CpuDevices cpus(2);
  std::vector<Device> devices = cpus.all();
  devices.insert(devices.end(), gpus.all().begin(), gpus.all().end());
  CHECK(ids(plan_copies(request_for(devices, {{CopyKind::p2p_bidir}}))) ==
        Texts{"p2p-bidir.copy.1MiB@nvidia:0>nvidia:1", "p2p-bidir.copy.1MiB@cpu:0>cpu:1"});
}

TEST_CASE("copy plan: what is asked for twice is measured once; latency has a size of its own") {
  const test::CpuDevices devices(1);
  CopyTemplate latency{CopyKind::h2d};
  latency.is_latency = true;
  const auto specs =
      plan_copies(request_for(devices.all(), {{CopyKind::h2d}, {CopyKind::h2d}, latency}));
  CHECK(ids(specs) == Texts{"h2d.pinned.copy.1MiB@cpu:0", "h2d.pinned.copy.4KiB.latency@cpu:0"});
}
