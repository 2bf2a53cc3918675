// SPDX-License-Identifier: MIT
#include "report/compare.hpp"

#include <doctest/doctest.h>

#include "report/tree.hpp"

using namespace hiptool::report;

namespace {

std::vector<SetupDifference> differences(const std::string& old_text, const std::string& new_text) {
  return setup_differences(parse_json(old_text, "old"), parse_json(new_text, "new"));
}

// "kind what device" of the only difference; empty without any.
std::string only(const std::string& old_text, const std::string& new_text) {
  const auto list = differences(old_text, new_text);
  if (list.empty()) return {};
  CHECK(list.size() == 1);
  const auto& one = list.front();
  return std::string(to_string(one.kind)) + " " + one.what + " " + one.device;
}

}  // namespace

TEST_CASE("clocks differ by more than 5 percent") {
  CHECK(only(R"({"clock_hz":1000})", R"({"clock_hz":951})").empty());
  CHECK(only(R"({"clock_hz":1000})", R"({"clock_hz":949})") == "clocks clock_hz ");
  CHECK(only(R"({"clock_hz":949})", R"({"clock_hz":1000})") == "clocks clock_hz ");
  CHECK(only(R"({"clocks":{"memory_hz":0}})", R"({"clocks":{"memory_hz":1}})") ==
        "clocks clocks.memory_hz ");
}

TEST_CASE("links, throttling and software") {
  CHECK(only(R"({"link":{"width":16}})", R"({"link":{"width":8}})") == "link link.width ");
  CHECK(only(R"({"pcie":{"speed_gt_s":32}})", R"({"pcie":{"speed_gt_s":32.0}})").empty());
  CHECK(only(R"({"throttle":[]})", R"({"throttle":["power"]})") == "throttling throttle ");
  CHECK(only(R"({"clock_event_reasons":[]})", R"({"clock_event_reasons":["x"]})") ==
        "throttling clock_event_reasons ");
  CHECK(only(R"({"driver":"1"})", R"({"driver":"2"})") == "software driver ");
}

TEST_CASE("what makes no difference") {
  CHECK(only(R"({"temperature_c":30})", R"({"temperature_c":80})").empty());
  CHECK(only(R"({"link":{"replays":1}})", R"({"link":{"replays":9}})").empty());
  CHECK(only(R"({"link":{"width":null}})", R"({"link":{"width":9}})").empty());
  CHECK(only(R"({"link":{}})", R"({"link":{"width":9}})").empty());
  CHECK(only("null", R"({"link":{"width":9}})").empty());
  CHECK(only("[1,\"x\",[]]", "{}").empty());
}

TEST_CASE("readings during the work win over those around it") {
  const char* idle_then_fast =
      R"({"link":{"before":{"speed_gt_s":2.5},"during":{"speed_gt_s":32}}})";
  CHECK(only(idle_then_fast, R"({"link":{"before":{"speed_gt_s":8},"during":{"speed_gt_s":32}}})")
            .empty());
  CHECK(only(idle_then_fast,
             R"({"link":{"before":{"speed_gt_s":2.5},"during":{"speed_gt_s":16}}})") ==
        "link link.during.speed_gt_s ");
  CHECK(only(R"({"link":{"after":{"width":16},"during":null}})",
             R"({"link":{"after":{"width":8},"during":{"width":8}}})") == "link link.after.width ");
  // The other way round: the phase outside, or as the value itself.
  CHECK(only(R"({"before":{"clock_hz":9},"during":{"clock_hz":1}})",
             R"({"before":{"clock_hz":5},"during":{"clock_hz":1}})")
            .empty());
  CHECK(only(R"({"clocks":{"during":9}})", R"({"clocks":{"during":5}})") ==
        "clocks clocks.during ");
}

TEST_CASE("devices are told apart by their id, whatever their order") {
  CHECK(only(R"({"devices":[{"id":"amd:0","clock_hz":9},{"id":"amd:1","clock_hz":5}]})",
             R"({"devices":[{"id":"amd:1","clock_hz":5},{"id":"amd:0","clock_hz":9}]})")
            .empty());
  CHECK(only(R"({"devices":[{"id":"amd:1","clock_hz":9}]})",
             R"({"devices":[{"id":"amd:1","clock_hz":5}]})") ==
        "clocks devices.amd:1.clock_hz amd:1");
  CHECK(only(R"({"nvidia:0":{"clock_hz":9}})", R"({"nvidia:0":{"clock_hz":5}})") ==
        "clocks nvidia:0.clock_hz nvidia:0");
}
