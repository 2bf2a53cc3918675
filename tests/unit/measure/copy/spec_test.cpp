// SPDX-License-Identifier: MIT
#include "measure/copy/spec.hpp"

#include <doctest/doctest.h>

#include "devices.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

struct Four {
  test::CpuDevices devices{4};

  CopySpec spec(CopyKind kind, std::size_t count, bool reads = false) {
    CopySpec made;
    made.kind = kind;
    if (uses_host(kind)) made.memory = HostKind::pinned;
    made.size_bytes = 1 << 20;
    made.devices.assign(devices.all().begin(),
                        devices.all().begin() + static_cast<std::ptrdiff_t>(count));
    made.reads = reads;
    return made;
  }
};

// "cpu:0>cpu:1 by cpu:0", a line for each route.
std::vector<std::string> texts(const CopySpec& spec) {
  std::vector<std::string> found;
  const auto name = [](const std::optional<Device>& device) {
    return device ? device->id() : std::string("host");
  };
  for (const CopyRoute& route : routes_of(spec)) {
    found.push_back(name(route.source) + ">" + name(route.destination) + " by " +
                    route.executor.id());
  }
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("copy cells: every name is parsed back") {
  for (const std::string& name : copy_kind_names()) {
    CHECK(to_string(parse_copy_kind(name).value()) == name);
  }
  for (const std::string& name : host_kind_names()) {
    CHECK(to_string(parse_host_kind(name).value()) == name);
  }
  for (const std::string& name : copy_engine_names()) {
    CHECK(to_string(parse_copy_engine(name).value()) == name);
  }
  CHECK(copy_kind_names().size() == 12);
  CHECK(to_string(CopyKind::all_to_all) == "all-to-all");
  CHECK_FALSE(parse_copy_kind("h2x"));
  CHECK_FALSE(parse_host_kind(""));
}

TEST_CASE_FIXTURE(Four, "copy cells: routes say who copies what") {
  CHECK(texts(spec(CopyKind::h2d, 1)) == Texts{"host>cpu:0 by cpu:0"});
  CHECK(texts(spec(CopyKind::d2h, 1)) == Texts{"cpu:0>host by cpu:0"});
  CHECK(texts(spec(CopyKind::d2d, 1)) == Texts{"cpu:0>cpu:0 by cpu:0"});
  CHECK(texts(spec(CopyKind::bidir, 1)) == Texts{"host>cpu:0 by cpu:0", "cpu:0>host by cpu:0"});
  CHECK(texts(spec(CopyKind::p2p_write, 2)) == Texts{"cpu:0>cpu:1 by cpu:0"});
  CHECK(texts(spec(CopyKind::p2p_read, 2)) == Texts{"cpu:0>cpu:1 by cpu:1"});
  CHECK(texts(spec(CopyKind::p2p_bidir, 2)) ==
        Texts{"cpu:0>cpu:1 by cpu:0", "cpu:1>cpu:0 by cpu:1"});
  CHECK(texts(spec(CopyKind::p2p_bidir, 2, true)) ==
        Texts{"cpu:0>cpu:1 by cpu:1", "cpu:1>cpu:0 by cpu:0"});
  CHECK(texts(spec(CopyKind::h2d_all, 2)) == Texts{"host>cpu:0 by cpu:0", "host>cpu:1 by cpu:1"});
  CHECK(texts(spec(CopyKind::one_to_all, 3)) ==
        Texts{"cpu:0>cpu:1 by cpu:0", "cpu:0>cpu:2 by cpu:0"});
  CHECK(texts(spec(CopyKind::all_to_one, 3)) ==
        Texts{"cpu:1>cpu:0 by cpu:1", "cpu:2>cpu:0 by cpu:2"});
  CHECK(texts(spec(CopyKind::all_to_one, 3, true)) ==
        Texts{"cpu:1>cpu:0 by cpu:0", "cpu:2>cpu:0 by cpu:0"});
  CHECK(texts(spec(CopyKind::all_to_all, 4)).size() == 12);
}

TEST_CASE_FIXTURE(Four, "copy cells: ids, sources and destinations") {
  const CopySpec h2d = spec(CopyKind::h2d, 1);
  CHECK(id_of(h2d) == "h2d.pinned.copy.1MiB@cpu:0");
  CHECK(source_of(h2d) == "host");
  CHECK(destination_of(h2d) == "cpu:0");
  CopySpec on_node = spec(CopyKind::d2h, 1);
  on_node.node = 1;
  on_node.is_latency = true;
  CHECK(id_of(on_node) == "d2h.pinned.copy.1MiB.latency.node1@cpu:0");
  CHECK(destination_of(on_node) == "host:1");
  CHECK(id_of(spec(CopyKind::p2p_read, 2)) == "p2p-read.copy.1MiB@cpu:0>cpu:1");
  CHECK(source_of(spec(CopyKind::p2p_read, 2)) == "cpu:0");
  CHECK(destination_of(spec(CopyKind::p2p_read, 2)) == "cpu:1");
  CHECK(id_of(spec(CopyKind::all_to_one, 3, true)) ==
        "all-to-one.read.copy.1MiB@cpu:1+cpu:2>cpu:0");
  CHECK(destination_of(spec(CopyKind::all_to_one, 3)) == "cpu:0");
  for (const CopyKind alone : {CopyKind::p2p_write, CopyKind::all_to_one, CopyKind::all_to_all}) {
    const std::string id = id_of(spec(alone, 1));  // skipped for want of a second device
    CHECK_MESSAGE(id.ends_with(".copy.1MiB@cpu:0"), id);
  }
  CHECK(id_of(spec(CopyKind::h2d_all, 2)) == "h2d-all.pinned.copy.1MiB@cpu:0+cpu:1");
}

TEST_CASE_FIXTURE(Four, "copy cells: a selector's words must all be the cell's") {
  const CopySpec h2d = spec(CopyKind::h2d, 1);
  for (const char* text :
       {"h2d", "h2d.pinned", "pinned", "h2d.1MiB", "h2d.1M", "1048576", "h2d.copy.cpu:0"}) {
    CAPTURE(text);
    CHECK(is_selected(h2d, text));
  }
  for (const char* text :
       {"", "h2", "h2d.", ".h2d", "h2d.1MB", "h2d.pageable", "h2d.cpu:1", "d2h", "h2d..copy"}) {
    CAPTURE(text);
    CHECK_FALSE(is_selected(h2d, text));
  }
  CHECK(is_selected(spec(CopyKind::one_to_all, 2), "one-to-all.write"));
  CHECK(is_selected(spec(CopyKind::one_to_all, 2, true), "one-to-all.read"));
  CHECK_FALSE(is_selected(spec(CopyKind::one_to_all, 2, true), "one-to-all.write"));
}

TEST_CASE_FIXTURE(Four,
                  "copy cells: the measured copy comes first, those beside it are twice as big") {
  CopySpec lane = spec(CopyKind::d2h, 3);
  lane.beside = Beside::others;
  CHECK(texts(lane) == Texts{"cpu:0>host by cpu:0", "cpu:1>host by cpu:1", "cpu:2>host by cpu:2"});
  CHECK(id_of(lane) == "d2h.withothers.pinned.copy.1MiB@cpu:0");
  CHECK(source_of(lane) == "cpu:0");
  CHECK(destination_of(lane) == "host");
  CHECK(lane.bytes_of(0) == 1 << 20);
  CHECK(lane.bytes_of(1) == 2 << 20);
  lane.beside = Beside::others_both_ways;
  CHECK(texts(lane) == Texts{"cpu:0>host by cpu:0", "host>cpu:0 by cpu:0", "cpu:1>host by cpu:1",
                             "host>cpu:1 by cpu:1", "cpu:2>host by cpu:2", "host>cpu:2 by cpu:2"});
  CopySpec one = spec(CopyKind::h2d, 1);
  CHECK(one.bytes_of(1) == 1 << 20);
  one.beside = Beside::other_way;
  CHECK(texts(one) == Texts{"host>cpu:0 by cpu:0", "cpu:0>host by cpu:0"});
  CHECK(source_of(one) == "host");
  CHECK(destination_of(one) == "cpu:0");
  CHECK(is_selected(one, "h2d.bothways"));
  CopySpec both = spec(CopyKind::p2p_bidir, 2, true);
  both.sums_copies = true;
  CHECK(id_of(both) == "p2p-bidir.sum.read.copy.1MiB@cpu:0>cpu:1");
}
