// SPDX-License-Identifier: MIT
#include "measure/copy/thresholds.hpp"

#include <doctest/doctest.h>

#include "devices.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

template <class Function>
std::string refusal_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK((error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::input_failed));
    return error.what();
  }
  return {};
}

Threshold copies(const char* text) { return parse_threshold(text, ThresholdKind::copies); }

CopyResult measured(const Device& device, double bytes_per_s) {
  CopyResult result;
  result.cell.kind = CopyKind::h2d;
  result.cell.memory = HostKind::pinned;
  result.cell.size_bytes = 1 << 20;
  result.cell.devices = {device};
  result.bytes = 1 << 20;
  result.samples_s = {static_cast<double>(result.bytes) / bytes_per_s};
  result.summary = base::summarize(result.samples_s);
  return result;
}

}  // namespace

TEST_CASE("retry: K of N") {
  CHECK(parse_retry("2/3").needed == 2);
  CHECK(parse_retry("2/3").most == 3);
  for (const char* text : {"", "2", "3/2", "0/2", "2/", "/3", "a/b", "2/3/4", "-1/2", "1/1001"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_retry(text); }).find("--retry") != std::string::npos);
  }
}

TEST_CASE("thresholds: met at the threshold, missed below it; shares are of the limit") {
  const test::CpuDevices devices(1);
  CopyResult result = measured(devices[0], 2e9);
  CHECK(judge(copies("h2d>=1.999GB/s"), result).is_met);
  CHECK_FALSE(judge(copies("h2d>=2.001GB/s"), result).is_met);
  CHECK(judge(copies("h2d>=1GB/s"), result).measured_bytes_per_s == doctest::Approx(2e9));
  CHECK(refusal_of([&] {
          judge(copies("h2d>=50%"), result);
        }).find("limit of h2d.pinned.copy.1MiB@cpu:0 is not known") != std::string::npos);
  result.limit = CopyLimit{4e9, "pcie-link"};
  CHECK(judge(copies("h2d>=49.9%"), result).is_met);
  const Judgement missed = judge(copies("h2d>=51%"), result);
  CHECK_FALSE(missed.is_met);
  CHECK(missed.least_bytes_per_s == doctest::Approx(2.04e9));
}

TEST_CASE("thresholds: one that names no cell is refused, and latencies count as none") {
  const test::CpuDevices devices(1);
  CopyCell rate = measured(devices[0], 1e9).cell;
  CopyCell latency = rate;
  latency.is_latency = true;
  const std::vector<Threshold> thresholds{copies("h2d.pinned>=1GB/s")};
  require_selected(thresholds, {&rate});
  CHECK(refusal_of([&] { require_selected(thresholds, {&latency}); }).find("names no cell") !=
        std::string::npos);
  CHECK(refusal_of([&] {
          require_selected({copies("d2h>=1GB/s")}, {&rate});
        }).find("'d2h>=1GB/s'") != std::string::npos);
  CHECK(thresholds_for(rate, thresholds).size() == 1);
  CHECK(thresholds_for(latency, thresholds).empty());
  std::vector<Threshold> of_others = thresholds;
  of_others[0].device_ids = {"nvidia:0"};
  CHECK(thresholds_for(rate, of_others).empty());
  CHECK(refusal_of([&] { require_selected(of_others, {&rate}); }) != "");
}
