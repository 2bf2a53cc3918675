// SPDX-License-Identifier: MIT
#include "measure/copy/thresholds.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "devices.hpp"
#include "support.hpp"

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

struct File {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "thresholds.txt";

  std::vector<Threshold> read(const std::string& text, const std::vector<std::string>& names) {
    std::ofstream(path) << text;
    return read_thresholds(path, names);
  }
};

}  // namespace

TEST_CASE("thresholds: rates in any unit and shares") {
  const Threshold rate = parse_threshold("h2d.pinned>=48GB/s");
  CHECK(rate.selector == "h2d.pinned");
  CHECK(rate.least == 48e9);
  CHECK_FALSE(rate.is_share);
  CHECK(parse_threshold(" h2d >= 1.5 GiB/s ").least == 1.5 * (1u << 30));
  CHECK(parse_threshold("h2d>=2000MB/s").least == 2e9);
  CHECK(parse_threshold("h2d>=7b/s").least == 7);
  CHECK(parse_threshold("h2d>=0.5TB/s").least == 5e11);
  const Threshold share = parse_threshold("h2d>=90%");
  CHECK(share.is_share);
  CHECK(share.least == doctest::Approx(0.9));
}

TEST_CASE("thresholds: anything else is refused with the forms that are taken") {
  for (const char* text : {"", "h2d", "h2d>48GB/s", ">=48GB/s", "h2d>=", "h2d>=48", "h2d>=48GB",
                           "h2d>=-1GB/s", "h2d>=nanGB/s", "h2d>=1e400GB/s", "h2d>=GB/s",
                           "h2d>=90%%", "h2d>=48GB/sx", "h2d=>48GB/s"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_threshold(text); }).find("is no threshold") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(File, "threshold files: a part for each device, and one for all") {
  const std::string text =
      "# limits\nh2d>=10GB/s\n\n[H200]\nh2d>=48GB/s # Gen5\n[mi300x]\nd2h>=50GB/s\n";
  const auto for_nvidia = read(text, {"NVIDIA H200"});
  REQUIRE(for_nvidia.size() == 2);
  CHECK(for_nvidia[0].least == 10e9);
  CHECK(for_nvidia[1].least == 48e9);
  const auto for_amd = read(text, {"AMD Instinct MI300X"});
  REQUIRE(for_amd.size() == 2);
  CHECK(for_amd[1].selector == "d2h");
  CHECK(read(text, {"Other"}).size() == 1);
}

TEST_CASE_FIXTURE(File,
                  "threshold files: faults name the file and the line, also in parts for others") {
  CHECK(refusal_of([&] { read("h2d>=1GB/s\n[Other]\nh2d=1\n", {"H200"}); }).find("line 3") !=
        std::string::npos);
  CHECK(refusal_of([&] { read("[Other]\nh2d>=1GB/s\n", {"H200"}); }).find("no threshold") !=
        std::string::npos);
  CHECK(refusal_of([&] { read_thresholds(folder.path() / "none", {}); }).find("none") !=
        std::string::npos);
}

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
  CHECK(judge(parse_threshold("h2d>=1.999GB/s"), result).is_met);
  CHECK_FALSE(judge(parse_threshold("h2d>=2.001GB/s"), result).is_met);
  CHECK(judge(parse_threshold("h2d>=1GB/s"), result).measured_bytes_per_s == doctest::Approx(2e9));
  CHECK(refusal_of([&] {
          judge(parse_threshold("h2d>=50%"), result);
        }).find("limit of h2d.pinned.copy.1MiB@cpu:0 is not known") != std::string::npos);
  result.limit = CopyLimit{4e9, "pcie-link"};
  CHECK(judge(parse_threshold("h2d>=49.9%"), result).is_met);
  const Judgement missed = judge(parse_threshold("h2d>=51%"), result);
  CHECK_FALSE(missed.is_met);
  CHECK(missed.least_bytes_per_s == doctest::Approx(2.04e9));
}

TEST_CASE("thresholds: one that names no cell is refused, and latencies count as none") {
  const test::CpuDevices devices(1);
  CopyCell rate = measured(devices[0], 1e9).cell;
  CopyCell latency = rate;
  latency.is_latency = true;
  const std::vector<Threshold> thresholds{parse_threshold("h2d.pinned>=1GB/s")};
  require_selected(thresholds, {&rate});
  CHECK(refusal_of([&] { require_selected(thresholds, {&latency}); }).find("names no cell") !=
        std::string::npos);
  CHECK(refusal_of([&] {
          require_selected({parse_threshold("d2h>=1GB/s")}, {&rate});
        }).find("'d2h>=1GB/s'") != std::string::npos);
  CHECK(thresholds_for(rate, thresholds).size() == 1);
  CHECK(thresholds_for(latency, thresholds).empty());
}
