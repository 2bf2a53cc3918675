// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool {

/// Parses a size: `64MiB` and `64M` are binary, `64MB` is decimal, `1.5GiB`, `4096` are bytes.
/// Throws Error(invalid_argument) that names the accepted forms for empty, negative,
/// fractional-byte, unknown or too large (2^63 and above) values.
std::uint64_t parse_size(std::string_view text);

/// Parses a list `4K,1M` or a range of powers of two `4KiB..1GiB` (both ends included).
/// Throws Error(invalid_argument) as parse_size does, and for a range that runs backwards.
std::vector<std::uint64_t> parse_sizes(std::string_view text);

/// "512 B", "1.50 KiB", "13.0 GiB": binary units, three significant digits.
std::string format_size(std::uint64_t size_bytes);

/// "52.4 GB/s", "870 MB/s": decimal units, three significant digits.
std::string format_rate(double bytes_per_s);

/// "1.24 s", "87.3 ms", "12.0 us": three significant digits.
std::string format_duration(double duration_s);

/// "97 %" from 0.97.
std::string format_share(double share);

/// "12 % below" for a shortfall of 0.12; "1/16000 of" where a share of 100 % would be shown.
std::string shortfall_text(double shortfall);

/// "131 072": digits in groups of three, separated by a thin blank (plain space here).
std::string format_count(std::uint64_t count);

}  // namespace hiptool
