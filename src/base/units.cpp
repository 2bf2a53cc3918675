// SPDX-License-Identifier: MIT
#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

#include "base/text.hpp"
#include "hiptool/error.hpp"

namespace hiptool {
namespace {

constexpr double size_limit = 9223372036854775808.0;  // 2^63

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr std::array suffixes{Suffix{"", 1},         Suffix{"B", 1},        Suffix{"K", 0x1p10},
                              Suffix{"KiB", 0x1p10}, Suffix{"M", 0x1p20},   Suffix{"MiB", 0x1p20},
                              Suffix{"G", 0x1p30},   Suffix{"GiB", 0x1p30}, Suffix{"T", 0x1p40},
                              Suffix{"TiB", 0x1p40}, Suffix{"KB", 1e3},     Suffix{"MB", 1e6},
                              Suffix{"GB", 1e9},     Suffix{"TB", 1e12}};

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorCode::invalid_argument, "parse size",
              "'" + std::string(text) + "' is not a size",
              "write it as 64MiB or 64M (binary), 64MB (decimal), 1.5GiB or 4096 (bytes)");
}

// Three significant digits, never in exponent form: 1.50, 13.0, 870.
std::string three_digits(double value) {
  std::array<char, 32> text;
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// Largest unit whose rounded value is at least 1 (so 1023.9 KiB becomes 1.00 MiB, not 1024 KiB).
std::string scaled(double value, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && value >= step - 0.5) {
    value /= step;
    ++unit;
  }
  return three_digits(value) + " " + std::string(units[unit]);
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || text.front() == '-') refuse(text);
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  if (suffix.empty()) {  // plain bytes keep all 64 bits, which a double does not
    const auto bytes = base::parse_number<std::uint64_t>(std::string_view(text.data(), end));
    if (!bytes || *bytes >> 63 != 0) refuse(text);
    return *bytes;
  }
  for (const Suffix& candidate : suffixes) {
    if (!base::equals_ignoring_case(candidate.text, suffix)) continue;
    const double bytes = number * candidate.factor;
    if (!(bytes < size_limit)) refuse(text);
    const double rounded = std::nearbyint(bytes);
    const bool is_whole = std::abs(bytes - rounded) < 1e-6 || candidate.factor > 1;
    if (!is_whole) refuse(text);
    return static_cast<std::uint64_t>(rounded);
  }
  refuse(text);
}

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  if (const auto dots = text.find(".."); dots != std::string_view::npos) {
    const std::uint64_t first = parse_size(text.substr(0, dots));
    const std::uint64_t last = parse_size(text.substr(dots + 2));
    if (first == 0 || last < first) {
      throw Error(ErrorCode::invalid_argument, "parse size",
                  "'" + std::string(text) + "' is not an ascending range",
                  "write it as 4KiB..1GiB, smaller size first");
    }
    for (std::uint64_t size = first; size < last && size >> 62 == 0; size *= 2) {
      sizes.push_back(size);
    }
    sizes.push_back(last);
    return sizes;
  }
  for (std::size_t start = 0;;) {
    const auto comma = text.find(',', start);
    sizes.push_back(parse_size(text.substr(start, comma - start)));
    if (comma == std::string_view::npos) return sizes;
    start = comma + 1;
  }
}

std::string format_size(std::uint64_t size_bytes) {
  if (size_bytes < 1024) return std::to_string(size_bytes) + " B";
  constexpr std::array<std::string_view, 7> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(size_bytes), 1024, units);
}

std::string format_rate(double bytes_per_s) {
  constexpr std::array<std::string_view, 5> units{"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(bytes_per_s, 1000, units);
}

std::string format_duration(double duration_s) {
  if (duration_s >= 0.9995) return three_digits(duration_s) + " s";
  constexpr std::array<std::string_view, 3> units{"ns", "us", "ms"};
  return scaled(duration_s * 1e9, 1000, units);
}

std::string format_share(double share) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.0f %%", share * 100);
  return text.data();
}

std::string shortfall_text(double shortfall) {
  constexpr double shown_as_all = 0.995;
  if (shortfall < shown_as_all) return format_share(shortfall) + " below";
  const double left = 1 - shortfall;
  if (left <= 0) return "nothing of";
  // Two digits: how often it fits is as uncertain as the rate.
  const double times = 1 / left;
  const double unit = std::pow(10.0, std::floor(std::log10(times)) - 1);
  return "1/" + std::to_string(std::llround(std::round(times / unit) * unit)) + " of";
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t place = digits.size(); place > 3;) {
    place -= 3;
    digits.insert(place, 1, ' ');
  }
  return digits;
}

}  // namespace hiptool
