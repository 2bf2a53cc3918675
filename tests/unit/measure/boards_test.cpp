// SPDX-License-Identifier: MIT
#include "measure/boards.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace hiptool;
using namespace hiptool::measure;

namespace {

std::optional<PublishedRate> rate(Platform platform, const std::string& name, RateKind kind,
                                  std::optional<std::uint64_t> units = std::nullopt) {
  DeviceInfo info;
  info.name = name;
  info.compute_units = units;
  return published_rate(platform, info, kind);
}

}  // namespace

TEST_CASE("boards: each model that people accept machines with has a limit for its memory") {
  for (const char* const name :
       {"AMD Instinct MI210", "AMD Instinct MI250X", "AMD Instinct MI300X", "AMD Instinct MI325X",
        "AMD Instinct MI350X", "AMD Instinct MI355X", "AMD Radeon PRO W7900",
        "AMD Radeon RX 7900 XTX", "AMD Radeon RX 9070 XT"}) {
    CAPTURE(name);
    CHECK(rate(Platform::amd, name, RateKind::memory));
  }
  for (const char* const name :
       {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB",
        "NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL",
        "NVIDIA H200", "NVIDIA B200", "NVIDIA L40S", "NVIDIA GeForce RTX 4090",
        "NVIDIA GeForce RTX 5090"}) {
    CAPTURE(name);
    CHECK(rate(Platform::nvidia, name, RateKind::memory));
  }
}

TEST_CASE("boards: a measurement comes before a datasheet, and has a narrower limit") {
  const auto link = rate(Platform::nvidia, "NVIDIA H100 80GB HBM3", RateKind::link);
  REQUIRE(link);
  CHECK(link->is_measured);
  CHECK(link->least_per_s() == doctest::Approx(0.85 * 48e9));
  const auto memory = rate(Platform::nvidia, "NVIDIA GeForce RTX 4090", RateKind::memory);
  REQUIRE(memory);
  CHECK_FALSE(memory->is_measured);
  CHECK(memory->least_per_s() == doctest::Approx(0.7 * 1008e9));
}

TEST_CASE("boards: other boards, parts of one and kinds without a source have no limit") {
  for (const char* const name :
       {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D", "NVIDIA H100", "NVIDIA GH200 480GB", "GRID A100X-40C", ""}) {
    CAPTURE(name);
    CHECK_FALSE(rate(Platform::nvidia, name, RateKind::memory));
  }
  CHECK(rate(Platform::amd, "AMD Instinct MI300X VF", RateKind::memory, 304));
  CHECK_FALSE(rate(Platform::amd, "AMD Instinct MI300X", RateKind::memory, 38));  // CPX
  CHECK_FALSE(rate(Platform::amd, "NVIDIA H200", RateKind::memory));
  CHECK_FALSE(rate(Platform::cpu, "AMD Instinct MI300X", RateKind::memory));
  CHECK_FALSE(rate(Platform::nvidia, "NVIDIA L40S", RateKind::peer));
  CHECK_FALSE(rate(Platform::nvidia, "NVIDIA B200", RateKind::product));
  CHECK_FALSE(rate(Platform::amd, "AMD Instinct MI250X", RateKind::link));
}

TEST_CASE("boards: all links of a GPU together are what its vendor states") {
  CHECK(12 * *nvlink_bytes_per_s("sm_80") == find_board(Platform::nvidia, "A100-SXM4-80GB")->peer);
  CHECK(18 * *nvlink_bytes_per_s("sm_90") == find_board(Platform::nvidia, "H200")->peer);
  CHECK(18 * *nvlink_bytes_per_s("sm_100") == find_board(Platform::nvidia, "B200")->peer);
  CHECK_FALSE(nvlink_bytes_per_s("sm_89"));
}
