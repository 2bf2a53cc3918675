// SPDX-License-Identifier: MIT
#include "measure/peak.hpp"

#include <doctest/doctest.h>

#include "report/remarks.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

DeviceInfo memory(const std::string& name, const std::string& arch, std::uint64_t megahertz,
                  std::uint64_t bits) {
  DeviceInfo info;
  info.name = name;
  info.arch = arch;
  info.memory_clock_hz = megahertz * 1'000'000;
  info.memory_bus_width_bits = bits;
  return info;
}

double peak(Platform platform, const DeviceInfo& info) {
  const auto found = memory_peak(platform, info);
  return found ? found->bytes_per_s : 0;
}

}  // namespace

TEST_CASE("memory peak: clocks by the kind of memory, against the vendors' figures") {
  CHECK(peak(Platform::nvidia, memory("NVIDIA H100", "sm_90", 2619, 5120)) ==
        doctest::Approx(3.35e12).epsilon(0.01));
  CHECK(peak(Platform::nvidia, memory("NVIDIA H200", "sm_90", 3201, 6144)) ==
        doctest::Approx(4.916736e12));
  CHECK(peak(Platform::nvidia, memory("NVIDIA B200", "sm_100", 3996, 7680)) ==
        doctest::Approx(7.67e12).epsilon(0.01));
  CHECK(peak(Platform::amd, memory("AMD Radeon Graphics", "gfx1010", 900, 192)) ==
        doctest::Approx(345.6e9));  // RX 5600, in the kernel's documentation
  // 1.228 and 1.6 TB/s in AMD's pages on MI100 and MI250 (docs/peaks.md).
  CHECK(peak(Platform::amd, memory("AMD Instinct MI100", "gfx908", 1200, 4096)) ==
        doctest::Approx(1.228e12).epsilon(0.001));
  CHECK(peak(Platform::amd, memory("AMD Instinct MI250X", "gfx90a", 1600, 4096)) ==
        doctest::Approx(1.6384e12));
  CHECK(peak(Platform::amd, memory("", "gfx906", 1000, 4096)) == doctest::Approx(1.024e12));
  CHECK(peak(Platform::amd, memory("", "gfx803", 2000, 256)) == doctest::Approx(256e9));
}

TEST_CASE("memory peak: the published figure of the board that is named, and of no other") {
  const DeviceInfo xtx = memory("AMD Radeon RX 7900 XTX", "gfx1100", 1249, 384);
  CHECK(peak(Platform::amd, xtx) == 960e9);
  CHECK(memory_peak(Platform::amd, xtx)->source == std::string("sku-table"));
  CHECK(peak(Platform::amd, memory("AMD Radeon RX 7900 XT", "gfx1100", 1, 1)) == 800e9);
  CHECK(peak(Platform::amd, memory("AMD Instinct MI300X VF", "gfx942", 1, 1)) == 5.3e12);
  CHECK(peak(Platform::amd, memory("AMD Instinct MI350X", "gfx950", 1, 1)) == 8e12);
  CHECK(peak(Platform::amd, memory("AMD Instinct MI355X", "gfx950", 1, 1)) == 8e12);
  CHECK(peak(Platform::amd, memory("AMD Radeon RX 9070 XT", "gfx1201", 1, 1)) == 640e9);
  const DeviceInfo other = memory("AMD Radeon RX 9070 GRE", "gfx1201", 1124, 192);
  CHECK(memory_peak(Platform::amd, other)->source == std::string("memory-clock"));
  CHECK(peak(Platform::amd, other) == doctest::Approx(432e9).epsilon(0.01));
  const DeviceInfo longer = memory("AMD Radeon RX 7900 XTXY", "gfx1100", 1000, 384);
  CHECK(memory_peak(Platform::amd, longer)->source == std::string("memory-clock"));
  CHECK(peak(Platform::nvidia, memory("MI300X", "sm_90", 1, 8)) == 2e6);
}

TEST_CASE("memory peak: absent where no public source gives a figure or the transfers of a clock") {
  for (const char* const name : {"AMD Instinct MI300A", "AMD Instinct MI300XZ", ""}) {
    CAPTURE(name);
    CHECK_FALSE(memory_peak(Platform::amd, memory(name, "gfx942", 1300, 8192)));
  }
  CHECK_FALSE(memory_peak(Platform::amd, memory("AMD Instinct MI360X", "gfx950", 1900, 8192)));
}

TEST_CASE("memory peak: by the clock for boards whose figure could not be confirmed") {
  const DeviceInfo board = memory("AMD Radeon PRO W7800", "gfx1100", 1000, 384);
  CHECK(peak(Platform::amd, board) == 768e9);
  CHECK(memory_peak(Platform::amd, board)->source == std::string("memory-clock"));
  CHECK(peak(Platform::amd, memory("AMD Radeon Instinct MI60", "gfx906", 500, 4096)) == 512e9);
}

TEST_CASE("memory peak: absent for the host's memory and where anything is missing") {
  DeviceInfo apu = memory("AMD Radeon Graphics", "gfx1103", 2800, 64);
  CHECK(memory_peak(Platform::amd, apu));
  apu.integrated = true;
  CHECK_FALSE(memory_peak(Platform::amd, apu));
  CHECK_FALSE(memory_peak(Platform::cpu, memory("", "x86_64", 1, 1)));
  CHECK_FALSE(memory_peak(Platform::amd, memory("", "gfx7", 1, 1)));
  CHECK_FALSE(memory_peak(Platform::nvidia, memory("", "sm_90", 0, 1)));
  CHECK_FALSE(memory_peak(Platform::nvidia, memory("", "sm_90", 1, 0)));
  CHECK_FALSE(memory_peak(Platform::nvidia, DeviceInfo{}));
}

TEST_CASE("share: up to what rounding explains; above it there is none, and the reason says why") {
  CHECK(share_of(4e12, 5e12, "the peak", "").value == 0.8);
  CHECK(share_of(5.325e12, 5.3e12, "the peak", "").value);  // MI300X: 5.3 TB/s is 5.325 rounded
  CHECK(share_of(5.325e12, 5.3e12, "the peak", "").missing == "");
  CHECK(share_of(5.3e12, 5.3e12, "the peak", "").remark == "");
  CHECK(share_of(5.325e12, 5.3e12, "the peak", "").remark ==
        "the rate is 100.5 % of the peak, within the rounding of published peaks and clocks");
  report::Measurement measured;
  measured.id = "copy@amd:0";
  set_share(share_of(4e12, 5.3e12, "the peak", ""), measured);
  const auto remark_of = [](const report::Measurement& one) {
    std::vector<report::Remark> remarks;
    add_share_remark(one, remarks);
    return remarks.empty() ? std::string() : lines_of(remarks).front().text;
  };
  CHECK(remark_of(measured) == "");
  set_share(share_of(5.325e12, 5.3e12, "the peak", ""), measured);
  CHECK(measured.share_of_limit > 1);
  CHECK(remark_of(measured).starts_with("share above 1: copy@amd:0: the rate is 100.5"));
  set_share(share_of(6e12, 5.3e12, "the peak", ""), measured);
  CHECK(remark_of(measured).starts_with("no share: copy@amd:0: the rate is 113 %"));
  const Share above = share_of(1.03e12, 1e12, "the peak memory bandwidth of 1.00 TB/s", "a cache");
  CHECK_FALSE(above.value);
  CHECK(above.is_above);
  CHECK(above.missing ==
        "the rate is 103 % of the peak memory bandwidth of 1.00 TB/s, which is therefore not its "
        "limit: a cache");
  CHECK(share_of(59.07, 1, "the peak", "").missing ==
        "the rate is 5907 % of the peak, which is therefore not its limit");
}

TEST_CASE("share: data within the L2 cache are a cause, data above it are none") {
  CHECK(cache_cause(2 << 20, 4 << 20) == "the data (2.00 MiB) fit in the L2 cache of 4.00 MiB");
  CHECK(cache_cause(8 << 20, 4 << 20) == "");
  CHECK(cache_cause(1, std::nullopt) == "");
}
