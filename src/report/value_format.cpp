// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "base/units.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

// From here on the fixed notation of units.hpp has too many digits, and whole doubles leave 64
// bits.
constexpr double largest_with_unit = 1e18;

// "1.98 GHz": three digits and a decimal prefix.
std::string format_scaled(double value, const char* unit) {
  constexpr std::array prefixes{" ", " k", " M", " G", " T", " P"};
  std::size_t prefix = 0;
  while (prefix + 1 < prefixes.size() && value >= 999.5) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fixed_text(value, prefix == 0 ? 0 : decimals).append(prefixes[prefix]).append(unit);
}

std::string plain(double value) {
  if (value == std::trunc(value) && std::abs(value) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return fmt::format("{:.6g}", value);
}

const char* base_unit(Unit unit) {
  switch (unit) {
    case Unit::size: return " B";
    case Unit::rate: return " B/s";
    case Unit::duration: return " s";
    case Unit::frequency: return " Hz";
    case Unit::operations: return " FLOP/s";
    case Unit::share:
    case Unit::count:
    case Unit::hundredths:
    case Unit::none: return "";
  }
  return "";
}

std::string format_real(double value, Unit unit) {
  if (std::isnan(value)) return "NaN";
  if (value < 0) return std::string("-").append(format_real(-value, unit));
  if (std::isinf(value)) return "inf";
  if (unit == Unit::none) return plain(value);
  if (value >= largest_with_unit) return fmt::format("{:.3g}{}", value, base_unit(unit));
  switch (unit) {
    case Unit::count:
      return value == std::trunc(value) ? format_count(static_cast<std::uint64_t>(value))
                                        : plain(value);
    case Unit::size: return format_size(static_cast<std::uint64_t>(std::llround(value)));
    case Unit::rate: return format_rate(value);
    case Unit::duration: return value == 0 ? "0 s" : format_duration(value);
    case Unit::share: return format_share(value);
    case Unit::frequency: return format_scaled(value, "Hz");
    case Unit::operations: return format_scaled(value, "FLOP/s");
    case Unit::hundredths: return fixed_text(value, 2);
    case Unit::none: break;
  }
  return plain(value);
}

std::string format_whole(std::uint64_t value, Unit unit) {
  if (unit == Unit::none) return std::to_string(value);
  if (unit == Unit::count) return format_count(value);
  if (unit == Unit::size) return format_size(value);
  return format_real(static_cast<double>(value), unit);
}

std::string format_signed(std::int64_t value, Unit unit) {
  if (value >= 0) return format_whole(static_cast<std::uint64_t>(value), unit);
  const std::uint64_t size = std::uint64_t{0} - static_cast<std::uint64_t>(value);
  return std::string("-").append(format_whole(size, unit));
}

std::string with_digits(double value, int digits, Unit unit) {
  if (unit == Unit::share) return fmt::format("{:.{}g} %", 100 * value, digits);
  const bool has_prefix = unit == Unit::rate || unit == Unit::frequency || unit == Unit::operations;
  std::string_view prefix;
  if (has_prefix) {
    for (const char* larger : {"k", "M", "G", "T", "P"}) {
      if (std::abs(value) < 1000) break;
      value /= 1000;
      prefix = larger;
    }
  }
  std::string text = fmt::format("{:.{}g}{}", value, digits, base_unit(unit));
  if (!prefix.empty()) text.insert(text.find(' ') + 1, prefix);
  return text;
}

std::string format_inner(const Value& value, Unit unit, bool unicode) {
  const std::string text = format_value(value, unit, unicode);
  if (std::holds_alternative<Array>(value.data())) return std::string("[").append(text) + "]";
  if (std::holds_alternative<Object>(value.data())) return std::string("{").append(text) + "}";
  return text;
}

std::string join(const Array& values, Unit unit, bool unicode) {
  std::string text;
  for (const Value& value : values) {
    text.append(text.empty() ? "" : ", ").append(format_inner(value, unit, unicode));
  }
  return text;
}

std::string join(const Object& members, Unit unit, bool unicode) {
  std::string text;
  for (const auto& [key, value] : members) {
    text.append(text.empty() ? "" : ", ")
        .append(printable(key))
        .append(" ")
        .append(format_inner(value, unit, unicode));
  }
  return text;
}

}  // namespace

std::string format_value(const Value& value, Unit unit, bool unicode) {
  return std::visit(
      [unit, unicode](const auto& data) -> std::string {
        using Type = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Type, std::monostate>)
          return unicode ? "–" : "-";
        else if constexpr (std::is_same_v<Type, bool>)
          return data ? "yes" : "no";
        else if constexpr (std::is_same_v<Type, std::int64_t>)
          return format_signed(data, unit);
        else if constexpr (std::is_same_v<Type, std::uint64_t>)
          return format_whole(data, unit);
        else if constexpr (std::is_same_v<Type, double>)
          return format_real(data, unit);
        else if constexpr (std::is_same_v<Type, std::string>)
          return printable(data);
        else
          return join(data, unit, unicode);
      },
      value.data());
}

std::pair<std::string, std::string> distinct_texts(const Value& left, const Value& right,
                                                   Unit unit) {
  constexpr int fewest_digits = 4;
  const std::pair usual{format_value(left, unit), format_value(right, unit)};
  const auto first = number_of(left);
  const auto second = number_of(right);
  if (usual.first != usual.second || !first || !second) return usual;
  if (count_of(left) && count_of(right)) {  // of 64 bits, which a double may not have
    const std::pair whole{format_value(left, Unit::none) + base_unit(unit),
                          format_value(right, Unit::none) + base_unit(unit)};
    return whole.first == whole.second ? usual : whole;
  }
  for (int digits = fewest_digits; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    const std::pair texts{with_digits(*first, digits, unit), with_digits(*second, digits, unit)};
    if (texts.first != texts.second) return texts;
  }
  return usual;
}

std::string expected_text(const Value& expected, const Value& got, Unit unit) {
  const auto [wanted, found] = distinct_texts(expected, got, unit);
  return "expected " + wanted + ", got " + found;
}

std::string signed_share(double share) {
  if (!std::isfinite(share)) return {};
  return (std::signbit(share) ? "" : "+") + fixed_text(share * 100, 1) + " %";
}

std::string effect_text(double effect) {
  return effect < 10 ? fmt::format("{:.3g} %", 100 * effect)
                     : fmt::format("{:.0f} %", 100 * effect);
}

}  // namespace hiptool::report
