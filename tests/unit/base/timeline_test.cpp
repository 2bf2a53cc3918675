// SPDX-License-Identifier: MIT
#include "hiptool/timeline.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "base/timeline_scope.hpp"

using hiptool::Timeline;
using hiptool::base::TimelineScope;

TEST_CASE("timeline: a scope records its track, name, bytes and time") {
  Timeline timeline;
  CHECK(timeline.add_track("first") == 0);
  const auto track = timeline.add_track("second");
  const auto before = Timeline::Clock::now();
  { const TimelineScope scope(&timeline, track, "read", 4096); }
  const auto after = Timeline::Clock::now();
  REQUIRE(timeline.spans().size() == 1);
  const Timeline::Span span = timeline.spans().front();
  CHECK(timeline.tracks() == std::vector<std::string>{"first", "second"});
  CHECK(span.track == track);
  CHECK(span.name == "read");
  CHECK(span.size_bytes == 4096);
  CHECK(before <= span.begin);
  CHECK(span.begin <= span.end);
  CHECK(span.end <= after);
}

TEST_CASE("timeline: a scope that an exception leaves is recorded too") {
  Timeline timeline;
  timeline.add_track("reader");
  const auto fail = [&] {
    const TimelineScope scope(&timeline, 0, "read");
    throw std::runtime_error("gone");
  };
  CHECK_THROWS(fail());
  CHECK(timeline.spans().size() == 1);
}

TEST_CASE("timeline: eight threads record at once and lose nothing") {
  Timeline timeline;
  constexpr int spans_per_thread = 500;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&timeline, i] {
        const auto track = timeline.add_track("reader " + std::to_string(i));
        for (int n = 0; n < spans_per_thread; ++n) TimelineScope(&timeline, track, "read", 1);
      });
    }
  }
  CHECK(timeline.tracks().size() == 8);
  CHECK(timeline.spans().size() == 8 * spans_per_thread);
}
