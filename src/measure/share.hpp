// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace hiptool::measure {

/// A rate as a share of what is possible, or why there is none.
struct Share {
  std::optional<double> value;
  std::string missing;    ///< empty where there is a value
  bool is_above = false;  ///< the rate is above what should be possible
};

inline Share no_share(std::string reason) { return {std::nullopt, std::move(reason), false}; }

/// The largest quotient that is a share. Published peaks are rounded (5.3 for 5.325 TB/s: 0.5 %)
/// and clocks change in steps (15 MHz of 1980: 0.8 %); what lies above both has another limit.
inline constexpr double most_share = 1.02;

/// `rate` as a share of `peak`, both in the same unit. Above most_share it is absent, and the
/// reason says so with `peak_name` ("the peak memory bandwidth of 4.81 TB/s") and `cause` ("the
/// data fit in the L2 cache of 50.0 MiB"; may be empty).
Share share_of(double rate, double peak, const std::string& peak_name, const std::string& cause);

/// Why so much data may be faster than the memory: "the data (2.00 MiB) fit in the L2 cache of
/// 50.0 MiB". Empty where they do not or the cache is unknown.
std::string cache_cause(double data_bytes, std::optional<std::uint64_t> l2_cache_bytes);

}  // namespace hiptool::measure
