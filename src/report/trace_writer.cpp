// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "hiptool/timeline.hpp"
#include "report/report.hpp"

namespace hiptool::report {
namespace {

using Json = nlohmann::ordered_json;
using Span = Timeline::Span;

double microseconds(Timeline::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

Json track_event(const char* name, std::size_t track, Json arguments) {
  return {{"ph", "M"}, {"name", name}, {"pid", 1}, {"tid", track}, {"args", std::move(arguments)}};
}

Json span_event(const Span& span, Timeline::Clock::time_point start) {
  const double duration_us = microseconds(span.end - span.begin);
  Json event{{"ph", "X"},         {"name", std::string(span.name)},         {"pid", 1},
             {"tid", span.track}, {"ts", microseconds(span.begin - start)}, {"dur", duration_us}};
  if (span.size_bytes > 0) {
    event["args"]["bytes"] = span.size_bytes;
    if (duration_us > 0) {
      event["args"]["GB/s"] = static_cast<double>(span.size_bytes) / duration_us / 1e3;
    }
  }
  return event;
}

}  // namespace

std::string to_trace(const Timeline& timeline) {
  std::vector<Span> spans = timeline.spans();
  // Viewers nest spans of a track by their order, so the outer one must come first.
  std::sort(spans.begin(), spans.end(), [](const Span& left, const Span& right) {
    return left.begin != right.begin ? left.begin < right.begin : left.end > right.end;
  });
  Json events = Json::array();
  const std::vector<std::string> tracks = timeline.tracks();
  for (std::size_t track = 0; track < tracks.size(); ++track) {
    events.push_back(track_event("thread_name", track, {{"name", tracks[track]}}));
    events.push_back(track_event("thread_sort_index", track, {{"sort_index", track}}));
  }
  for (const Span& span : spans) events.push_back(span_event(span, spans.front().begin));
  const Json document{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hiptool::report
