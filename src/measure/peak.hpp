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

/// What the memory of a device can carry at most, in bytes per second, and how that is known:
/// "sku-table" (the vendor's figure for a board of that name) or "memory-clock" (clock, transfers
/// for each clock and width of the bus).
struct MemoryPeak {
  double bytes_per_s = 0;
  const char* source = "";
};

/// On NVIDIA by the clock, which the driver reports for a bus of double data rate. On AMD the
/// figure that is published for the board, else the clock of the memory controller times the
/// transfers that such a memory makes in a clock (HBM 2, GDDR5 4, GDDR6 16). Absent for memory that
/// is the host's and where no public source was found. docs/peaks.md names the sources.
std::optional<MemoryPeak> memory_peak(Platform platform, const DeviceInfo& info);

/// A rate as a share of what is possible, or why there is none.
struct Share {
  std::optional<double> value;
  std::string missing;    ///< empty where there is a value
  bool is_above = false;  ///< the rate is above what should be possible
};

inline Share no_share(std::string reason) { return {std::nullopt, std::move(reason), false}; }

/// The largest quotient that is a share. Published peaks are rounded (5.3 for 5.325 TB/s: 0.5 %)
/// and clocks change in steps (15 MHz of 1980: 0.8 %); a higher one means another limit.
inline constexpr double most_share = 1.02;

/// `rate` as a share of `peak`, both in the same unit. Above most_share it is absent, and the
/// reason says so with `peak_name` ("the peak memory bandwidth of 4.81 TB/s") and `cause` ("the
/// data fit in the L2 cache of 50.0 MiB"; may be empty).
Share share_of(double rate, double peak, const std::string& peak_name, const std::string& cause);

/// Why so much data may be faster than the memory: "the data (2.00 MiB) fit in the L2 cache of
/// 50.0 MiB". Empty where they do not or the cache is unknown.
std::string cache_cause(double data_bytes, std::optional<std::uint64_t> l2_cache_bytes);

/// Puts the share, or why there is none, into a measurement.
void set_share(Share share, report::Measurement& measured);

}  // namespace hiptool::measure
