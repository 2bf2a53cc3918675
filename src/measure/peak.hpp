// SPDX-License-Identifier: MIT
/// Peaks of devices, and rates as shares of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

/// The peak memory bandwidth of a device and its source: "sku-table" (the vendor's figure for a
/// board of that name) or "memory-clock" (clock, transfers for each clock and width of the bus).
struct MemoryPeak {
  double bytes_per_s = 0;
  const char* source = "";
};

/// On NVIDIA from the clock, which the driver reports for a bus of double data rate. On AMD the
/// published figure of the board, else the clock of the memory controller times the transfers of
/// such memory in a clock (HBM 2, GDDR5 4, GDDR6 16). Absent for host memory and without a public
/// source. docs/peaks.md names the sources.
std::optional<MemoryPeak> memory_peak(Platform platform, const DeviceInfo& info);

/// A rate as a share of a peak, or the reason why there is no share.
struct Share {
  std::optional<double> value;
  std::string missing;      ///< the reason; empty if there is a value
  std::string remark = {};  ///< of a value above 1: why it is one
  bool is_above = false;    ///< the rate is so far above the peak that this is none
};

inline Share no_share(std::string reason) { return {std::nullopt, std::move(reason)}; }

/// The largest quotient accepted as a share: published peaks are rounded (5.3 for 5.325 TB/s: 0.5
/// %) and clocks change in steps (15 MHz of 1980: 0.8 %). A higher one means that the limit is
/// another.
inline constexpr double most_share = 1.02;

/// `rate` as a share of `peak`, both in the same unit. Above most_share it is absent, and the
/// reason says so with `peak_name` ("the peak memory bandwidth of 4.81 TB/s") and `cause` ("the
/// data fit in the L2 cache of 50.0 MiB"; may be empty).
Share share_of(double rate, double peak, const std::string& peak_name, const std::string& cause);

/// Why the rate may exceed the memory's: "the data (2.00 MiB) fit in the L2 cache of 50.0
/// MiB". Empty if they do not fit or the cache is unknown.
std::string cache_cause(double data_bytes, std::optional<std::uint64_t> l2_cache_bytes);

/// Stores the share, and the reason why there is none or why it is above 1, in a measurement.
void set_share(Share share, report::Measurement& measured);

}  // namespace hiptool::measure
