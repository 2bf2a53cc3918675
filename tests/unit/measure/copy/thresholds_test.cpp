// SPDX-License-Identifier: MIT
#include "measure/copy/thresholds.hpp"

#include <doctest/doctest.h>

#include "devices.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

template <class Function>
std::string evaluation_refusal_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK((error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::input_failed));
    return error.what();
  }
  return {};
}

Threshold copies_threshold(const char* text) {
  return parse_threshold(text, ThresholdKind::copies);
}

CopyResult measured(const Device& device, double bytes_per_s,
                    const std::optional<CopyLimit>& limit = {}, CopyKind kind = CopyKind::h2d) {
  CopySpec spec;
  spec.kind = kind;
  if (kind != CopyKind::d2d) spec.memory = HostKind::pinned;
  spec.size_bytes = 1 << 20;
  spec.devices = {device};
  CopyResult result(spec);
  result.bytes = 1 << 20;
  result.samples_s = {static_cast<double>(result.bytes) / bytes_per_s};
  result.limit = limit;
  result.summarize();
  return result;
}

}  // namespace

TEST_CASE("retry: K of N") {
  CHECK(parse_retry("2/3").needed == 2);
  CHECK(parse_retry("2/3").most == 3);
  for (const char* text : {"", "2", "3/2", "0/2", "2/", "/3", "a/b", "2/3/4", "-1/2", "1/1001"}) {
    CAPTURE(text);
    CHECK(evaluation_refusal_of([&] { parse_retry(text); }).find("--retry") != std::string::npos);
  }
}

TEST_CASE("thresholds: met at the threshold, missed below it; shares are of the limit") {
  const test::CpuDevices devices(1);
  CopyResult result = measured(devices[0], 2e9);
  CHECK(judge(copies_threshold("h2d>=1.999GB/s"), result).is_met);
  CHECK_FALSE(judge(copies_threshold("h2d>=2.001GB/s"), result).is_met);
  CHECK(judge(copies_threshold("h2d>=1GB/s"), result).measured_bytes_per_s.value() ==
        doctest::Approx(2e9));
  CHECK(evaluation_refusal_of([&] { judge(copies_threshold("h2d>=50%"), result); })
            .find("h2d.pinned.copy.1MiB@cpu:0 has no share of a limit: the limit of this copy is "
                  "not known here") != std::string::npos);
  result = measured(devices[0], 2e9, CopyLimit{4e9, "pcie-link"});
  CHECK(judge(copies_threshold("h2d>=49.9%"), result).is_met);
  const report::ThresholdResult missed = judge(copies_threshold("h2d>=51%"), result);
  CHECK_FALSE(missed.is_met);
  CHECK(*missed.least_bytes_per_s == doctest::Approx(2.04e9));
}

TEST_CASE("thresholds: a rate above its limit has no share, so that none can be asked of it") {
  const test::CpuDevices devices(1);
  const auto limited = [&](double limit) {
    return measured(devices[0], 59.07e9, CopyLimit{limit, "memory-clock", std::uint64_t{50} << 20},
                    CopyKind::d2d);
  };
  CopyResult result = limited(1e9);
  CHECK_FALSE(result.share_of_limit);
  CHECK(result.share_reason ==
        "the rate is 5907 % of the limit of 1.00 GB/s (memory-clock), which is therefore not its "
        "limit: the data (2.00 MiB) fit in the L2 cache of 50.0 MiB");
  CHECK(evaluation_refusal_of([&] {
          judge(copies_threshold("d2d>=50%"), result);
        }).find("5907 %") != std::string::npos);
  CHECK(judge(copies_threshold("d2d>=50GB/s"), result).is_met);
  result = limited(58.5e9);  // within what a rounded figure explains
  REQUIRE(result.share_of_limit);
  CHECK(*result.share_of_limit == doctest::Approx(1.00974).epsilon(0.001));
}

TEST_CASE("thresholds: a latency is met at its limit, missed above it") {
  const test::CpuDevices devices(1);
  CopySpec spec = measured(devices[0], 1e9).spec;
  spec.is_latency = true;
  CopyResult result(spec);
  result.samples_s = {12e-6, 10e-6, 11e-6};
  result.summarize();
  const report::ThresholdResult met = judge(copies_threshold("h2d.latency<=11us"), result);
  CHECK(met.is_met);
  CHECK(met.met == 1);
  CHECK(*met.measured_s == doctest::Approx(11e-6));
  CHECK_FALSE(met.measured_bytes_per_s);
  CHECK_FALSE(met.least_bytes_per_s);
  CHECK(met.bound_text() == "at most 11.0 us");
  const report::ThresholdResult missed = judge(copies_threshold("h2d.latency<=10.9us"), result);
  CHECK_FALSE(missed.is_met);
  CHECK(missed.met == 0);
}

TEST_CASE("thresholds: rates are for rates, latencies for latencies") {
  const test::CpuDevices devices(1);
  CopySpec rate = measured(devices[0], 1e9).spec;
  CopySpec latency = rate;
  latency.is_latency = true;
  latency.size_bytes = 4096;
  const std::vector<Threshold> thresholds{copies_threshold("h2d.pinned<=1ms")};
  CHECK(thresholds_for(rate, thresholds).empty());
  CHECK(thresholds_for(latency, thresholds).size() == 1);
  require_selected(thresholds, {&rate, &latency});
  const auto hint_of = [&](const char* text, const std::vector<const CopySpec*>& specs) {
    try {
      require_selected({copies_threshold(text)}, specs);
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string("accepted");
  };
  CHECK(hint_of("h2d.latency<=1ms", {&rate}).find("measured without --kind") != std::string::npos);
  CHECK(hint_of("d2h.latency<=1ms", {&rate, &latency}) ==
        "measured: h2d.pinned.copy.4KiB.latency@cpu:0");
}

TEST_CASE("thresholds: one that names no cell is refused, and latencies count as none") {
  const test::CpuDevices devices(1);
  CopySpec rate = measured(devices[0], 1e9).spec;
  CopySpec latency = rate;
  latency.is_latency = true;
  const std::vector<Threshold> thresholds{copies_threshold("h2d.pinned>=1GB/s")};
  require_selected(thresholds, {&rate});
  CHECK(evaluation_refusal_of([&] {
          require_selected(thresholds, {&latency});
        }).find("selects none") != std::string::npos);
  CHECK(evaluation_refusal_of([&] {
          require_selected({copies_threshold("d2h>=1GB/s")}, {&rate});
        }).find("'d2h>=1GB/s'") != std::string::npos);
  CHECK(thresholds_for(rate, thresholds).size() == 1);
  CHECK(thresholds_for(latency, thresholds).empty());
  std::vector<Threshold> of_others = thresholds;
  of_others[0].device_ids = {"nvidia:0"};
  CHECK(thresholds_for(rate, of_others).empty());
  CHECK(evaluation_refusal_of([&] { require_selected(of_others, {&rate}); }) != "");
}
