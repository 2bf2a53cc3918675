// SPDX-License-Identifier: MIT
#include "report/report.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "hiptool/timeline.hpp"

using hiptool::Timeline;
using hiptool::report::to_trace;
using std::chrono::microseconds;

namespace {

nlohmann::json events_of(const Timeline& timeline) {
  return nlohmann::json::parse(to_trace(timeline)).at("traceEvents");
}

}  // namespace

TEST_CASE("trace: tracks are named threads, spans are complete events in order of their begin") {
  Timeline timeline;
  timeline.add_track("reader 0");
  timeline.add_track("copy stream \xff");
  const auto start = Timeline::Clock::now();
  timeline.add({1, "copy", start + microseconds(150), start + microseconds(250), 5'000'000});
  timeline.add({0, "read", start, start + microseconds(100), 0});
  timeline.add({0, "chunk", start, start + microseconds(120), 0});
  const auto events = events_of(timeline);
  REQUIRE(events.size() == 2 * 2 + 3);
  CHECK(events[0]["name"] == "thread_name");
  CHECK(events[0]["args"]["name"] == "reader 0");
  CHECK(events[2]["args"]["name"] == "copy stream \xEF\xBF\xBD");  // no UTF-8: replaced
  CHECK(events[4]["name"] == "chunk");  // the outer of two that begin together
  CHECK(events[5]["name"] == "read");
  CHECK(events[5]["ts"] == 0.0);
  CHECK_FALSE(events[5].contains("args"));
  CHECK(events[6]["ph"] == "X");
  CHECK(events[6]["tid"] == 1);
  CHECK(events[6]["ts"] == doctest::Approx(150));
  CHECK(events[6]["dur"] == doctest::Approx(100));
  CHECK(events[6]["args"]["bytes"] == 5'000'000);
  CHECK(events[6]["args"]["GB/s"] == doctest::Approx(50));
}

TEST_CASE("trace: a timeline without spans is a document all the same") {
  CHECK(events_of(Timeline{}).empty());
}
