// SPDX-License-Identifier: MIT
#include "user_kernel/element_value.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "hiptool/error.hpp"

namespace hiptool::user_kernel {
namespace {

struct TypeFacts {
  ElementType type;
  std::string_view name;
  std::size_t size_bytes;
  bool is_signed;
  int fraction_bits;  ///< of reals, without the leading one; 0: a whole number
  int exponent_bits;
};

constexpr std::array facts{
    TypeFacts{ElementType::i8, "i8", 1, true, 0, 0},
    TypeFacts{ElementType::u8, "u8", 1, false, 0, 0},
    TypeFacts{ElementType::i16, "i16", 2, true, 0, 0},
    TypeFacts{ElementType::u16, "u16", 2, false, 0, 0},
    TypeFacts{ElementType::i32, "i32", 4, true, 0, 0},
    TypeFacts{ElementType::u32, "u32", 4, false, 0, 0},
    TypeFacts{ElementType::i64, "i64", 8, true, 0, 0},
    TypeFacts{ElementType::u64, "u64", 8, false, 0, 0},
    TypeFacts{ElementType::f16, "f16", 2, true, 10, 5},
    TypeFacts{ElementType::bf16, "bf16", 2, true, 7, 8},
    TypeFacts{ElementType::f32, "f32", 4, true, 23, 8},
    TypeFacts{ElementType::f64, "f64", 8, true, 52, 11},
};

const TypeFacts& facts_of(ElementType type) { return facts[static_cast<std::size_t>(type)]; }

[[noreturn]] void refuse_value(std::string message, std::string hint = {}) {
  throw Error(ErrorCode::invalid_argument, "parse kernel arguments", std::move(message),
              std::move(hint));
}

std::vector<std::byte> bytes_of(std::uint64_t bits, std::size_t size) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &bits, size);
  return bytes;
}

/// The bits of a narrow real nearest to the number, ties to even (IEEE 754).
std::uint64_t narrow_bits(const TypeFacts& type, double number) {
  const std::uint64_t sign = std::signbit(number) ? std::uint64_t{1} : 0;
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const std::uint64_t exponent_mask = (std::uint64_t{1} << type.exponent_bits) - 1;
  const auto joined = [&](std::uint64_t rest) {
    return sign << (type.exponent_bits + type.fraction_bits) | rest;
  };
  const std::uint64_t infinity = exponent_mask << type.fraction_bits;
  if (std::isnan(number)) return joined(infinity | std::uint64_t{1} << (type.fraction_bits - 1));
  if (std::isinf(number)) return joined(infinity);
  if (number == 0) return joined(0);
  int exponent = 0;
  std::frexp(number, &exponent);  // number = m * 2^exponent, 0.5 <= m < 1
  const int place = std::max(exponent - 1, 1 - bias);
  // In units of the last place; nearbyint rounds ties to even.
  const double last_places =
      std::nearbyint(std::ldexp(std::abs(number), type.fraction_bits - place));
  const auto whole = static_cast<std::uint64_t>(last_places);
  // A leading one adds one to the stored exponent; subnormal numbers have none.
  const std::uint64_t stored = (static_cast<std::uint64_t>(place + bias - 1) << type.fraction_bits);
  return joined(std::min(stored + whole, infinity));
}

double wide_value(const TypeFacts& type, std::uint64_t bits) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const std::uint64_t exponent_mask = (std::uint64_t{1} << type.exponent_bits) - 1;
  const std::uint64_t exponent = bits >> type.fraction_bits & exponent_mask;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << type.fraction_bits) - 1);
  const bool is_negative = (bits >> (type.exponent_bits + type.fraction_bits) & 1) != 0;
  double value = 0;
  if (exponent == exponent_mask) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {
    const std::uint64_t leading = exponent == 0 ? 0 : std::uint64_t{1} << type.fraction_bits;
    const int place = exponent == 0 ? 1 : static_cast<int>(exponent);
    value = std::ldexp(static_cast<double>(leading | fraction), place - bias - type.fraction_bits);
  }
  return is_negative ? -value : value;
}

std::uint64_t real_bits(const TypeFacts& type, double number) {
  if (type.type == ElementType::f64) return std::bit_cast<std::uint64_t>(number);
  return narrow_bits(type, number);
}

std::optional<std::uint64_t> parse_hex(std::string_view digits) {
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, 16);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

[[noreturn]] void refuse_number(const TypeFacts& type, std::string_view text) {
  std::string accepted = "a number";
  if (type.fraction_bits == 0) {
    const int bits = static_cast<int>(type.size_bytes) * 8;
    const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
    accepted = type.is_signed ? "-" + std::to_string(all / 2 + 1) + " to " + std::to_string(all / 2)
                              : "0 to " + std::to_string(all);
  }
  refuse_value("'" + std::string(text) + "' is not a valid value of type " + std::string(type.name),
               std::string(type.name) + " takes " + accepted);
}

std::uint64_t parse_whole(const TypeFacts& type, std::string_view text) {
  const int bits = static_cast<int>(type.size_bytes) * 8;
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  const bool is_negative = text.starts_with("-");
  const std::string_view digits = text.substr(is_negative ? 1 : 0);
  const bool is_hex = digits.starts_with("0x");
  const auto number =
      is_hex ? parse_hex(digits.substr(2)) : base::parse_number<std::uint64_t>(digits);
  // Hexadecimal numbers are bits, so that all bits of a signed type can be set.
  const std::uint64_t most = type.is_signed && !is_hex ? all / 2 + (is_negative ? 1 : 0) : all;
  if (!number || *number > most || (is_negative && (!type.is_signed || is_hex))) {
    refuse_number(type, text);
  }
  return is_negative ? 0 - *number : *number;
}

// Hexadecimal numbers are bits here too, such as of a certain NaN.
std::uint64_t parse_real_bits(const TypeFacts& type, std::string_view text) {
  const auto bits = parse_hex(text.substr(2));
  if (!bits || *bits > std::numeric_limits<std::uint64_t>::max() >> (64 - type.size_bytes * 8)) {
    refuse_number(type, text);
  }
  return *bits;
}

std::uint64_t parse_real(const TypeFacts& type, std::string_view text) {
  if (text.starts_with("0x")) return parse_real_bits(type, text);
  if (type.type == ElementType::f32) {  // through double it would be rounded twice
    const auto number = base::parse_number<float>(text);
    if (!number) refuse_number(type, text);
    return std::bit_cast<std::uint32_t>(*number);
  }
  const auto number = base::parse_number<double>(text);
  if (!number) refuse_number(type, text);
  const std::uint64_t bits = real_bits(type, *number);
  if (std::isfinite(*number) && !std::isfinite(wide_value(type, bits))) refuse_number(type, text);
  return bits;
}

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

template <class Bits>
std::vector<std::byte> make_elements(ElementType type, std::uint64_t count, const Bits& bits) {
  const std::size_t size = size_bytes(type);
  std::vector<std::byte> bytes(count * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t element = bits(i);
    std::memcpy(bytes.data() + i * size, &element, size);
  }
  return bytes;
}

}  // namespace

ElementType parse_element_type(std::string_view name) {
  std::string all;
  for (const TypeFacts& type : facts) {
    if (type.name == name) return type.type;
    all += (all.empty() ? "" : ", ") + std::string(type.name);
  }
  refuse_value("'" + std::string(name) + "' is not a valid argument type", "the types are " + all);
}

std::string_view to_string(ElementType type) noexcept { return facts_of(type).name; }

std::size_t size_bytes(ElementType type) noexcept { return facts_of(type).size_bytes; }

bool is_real(ElementType type) noexcept { return facts_of(type).fraction_bits > 0; }

std::vector<std::byte> parse_element(ElementType type, std::string_view text) {
  const TypeFacts& of = facts_of(type);
  return bytes_of(is_real(type) ? parse_real(of, text) : parse_whole(of, text), of.size_bytes);
}

std::uint64_t bits_of(ElementType type, std::span<const std::byte> bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), size_bytes(type));
  return bits;
}

double real_of(ElementType type, std::span<const std::byte> bytes) {
  return wide_value(facts_of(type), bits_of(type, bytes));
}

report::Value value_of(ElementType type, std::span<const std::byte> bytes) {
  if (is_real(type)) return real_of(type, bytes);
  const std::uint64_t bits = bits_of(type, bytes);
  if (!facts_of(type).is_signed) return bits;
  const int unused = 64 - static_cast<int>(size_bytes(type)) * 8;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::vector<std::byte> iota(ElementType type, std::uint64_t count) {
  return make_elements(type, count, [&](std::uint64_t i) {
    return is_real(type) ? real_bits(facts_of(type), static_cast<double>(i)) : i;
  });
}

std::vector<std::byte> random_elements(ElementType type, std::uint64_t count, std::uint64_t seed) {
  std::uint64_t state = seed;
  return make_elements(type, count, [&](std::uint64_t) {
    const std::uint64_t bits = next_random(state);
    if (!is_real(type)) return bits;
    const int kept = facts_of(type).fraction_bits + 1;  // exact in this type
    return real_bits(facts_of(type), std::ldexp(static_cast<double>(bits >> (64 - kept)), -kept));
  });
}

}  // namespace hiptool::user_kernel
