// SPDX-License-Identifier: MIT
#include "kernel_store/value_check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "kernel_store/references.hpp"
#include "model/element_types.hpp"

namespace hiptool::kernel_store {
namespace {

struct Named {
  std::string_view name;
  ValueDescriptor descriptor;
};

// The special bits of a format with infinities are its whole exponent.
constexpr ValueDescriptor format(std::uint32_t bytes, std::uint64_t exponent,
                                 std::uint64_t fraction) {
  return {exponent, exponent, fraction, bytes, bytes, 0, 0, 1, 0};
}

// Without infinities; `mask` leaves the sign out where both signs are NaN.
constexpr ValueDescriptor byte_format(std::uint64_t nan, std::uint64_t mask) {
  return {nan, mask, 0, 1, 1, 0, 0, 1, 0};
}

constexpr ValueDescriptor half = format(2, 0x7C00, 0x03FF);
constexpr ValueDescriptor single = format(4, 0x7F800000, 0x007FFFFF);

std::optional<ValueDescriptor> scales_of(const model::GgufType& type) {
  ValueDescriptor value;
  switch (type.format) {
    case model::ScaleFormat::half:
    case model::ScaleFormat::spread_half: value = half; break;
    case model::ScaleFormat::single: value = single; break;
    case model::ScaleFormat::e8m0: value = byte_format(0xFF, 0xFF); break;
    default: return std::nullopt;
  }
  value.block_bytes = type.entry.block_bits / 8;
  value.first = type.scale_at;
  value.stride = value.value_bytes;
  value.count = type.scale_count;
  value.is_spread = type.format == model::ScaleFormat::spread_half ? 1 : 0;
  return value;
}

// IEEE 754; OCP OFP8 1.0 (E4M3, E5M2) and MX 1.0 (E8M0); the FNUZ types have one NaN,
// the negative zero of others. F6 and F4 have neither NaN nor infinity.
constexpr std::array plain_types{
    Named{"F32", single},
    Named{"F16", half},
    Named{"BF16", format(2, 0x7F80, 0x007F)},
    Named{"F64", format(8, 0x7FF0000000000000, 0x000FFFFFFFFFFFFF)},
    Named{"C64", single},  // pairs of them
    Named{"F8_E5M2", format(1, 0x7C, 0x03)},
    Named{"F8_E4M3", byte_format(0x7F, 0x7F)},
    Named{"F8_E8M0", byte_format(0xFF, 0xFF)},
    Named{"F8_E4M3FNUZ", byte_format(0x80, 0xFF)},
    Named{"F8_E5M2FNUZ", byte_format(0x80, 0xFF)},
};

template <class Value>
Value load(const std::uint8_t* at) {
  Value value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Values of one size, `step` bytes apart. The first pass only looks whether there is anything, in a
// form that compilers turn into vector instructions.
template <class Value>
void check(const std::uint8_t* data, std::uint64_t count, std::uint64_t step,
           std::uint64_t tensor_offset, const ValueDescriptor& type, ValueCounts& found) {
  constexpr std::uint64_t piece = 512;
  const auto special = static_cast<Value>(type.special);
  const auto mask = static_cast<Value>(type.mask);
  const auto is_special = [=](Value value) { return ((value ^ special) & mask) == 0; };
  const auto any_in = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t distance) {
    Value any = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      any = static_cast<Value>(any | (is_special(load<Value>(data + i * distance)) ? 1 : 0));
    }
    return any != 0;
  };
  for (std::uint64_t begin = 0; begin < count; begin += piece) {
    const std::uint64_t end = std::min(begin + piece, count);
    const bool is_dense = step == sizeof(Value);
    if (!(is_dense ? any_in(begin, end, sizeof(Value)) : any_in(begin, end, step))) continue;
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto value = load<Value>(data + i * step);
      if (!is_special(value)) continue;
      const bool is_nan = type.fraction == 0 || (value & type.fraction) != 0;
      ++(is_nan ? found.nan : found.infinite);
      found.first_offset = std::min(found.first_offset, tensor_offset + i * step);
    }
  }
}

void check_spread(const std::uint8_t* data, const ValueTile& tile, const ValueDescriptor& type,
                  ValueCounts& found) {
  for (std::uint64_t i = 0; i < tile.blocks; ++i) {
    const std::uint64_t at = i * type.block_bytes + type.first;
    std::array<std::uint8_t, 2> scale{};
    for (std::size_t nibble = 0; nibble < 4; ++nibble) {
      const unsigned bits = static_cast<unsigned>(data[at + 2 * nibble + 1]) >> 4;
      scale[nibble / 2] = static_cast<std::uint8_t>(scale[nibble / 2] | bits << nibble % 2 * 4);
    }
    check<std::uint16_t>(scale.data(), 1, 2, tile.tensor_offset + at, type, found);
  }
}

void check_tile(const std::uint8_t* data, const ValueTile& tile, const ValueDescriptor& type,
                ValueCounts& found) {
  if (type.is_spread != 0) return check_spread(data, tile, type, found);
  for (std::uint32_t k = 0; k < type.count; ++k) {
    const std::uint64_t place = type.first + std::uint64_t{k} * type.stride;
    const auto run = [&](auto value) {
      check<decltype(value)>(data + place, tile.blocks, type.block_bytes,
                             tile.tensor_offset + place, type, found);
    };
    switch (type.value_bytes) {
      case 1: run(std::uint8_t{}); break;
      case 2: run(std::uint16_t{}); break;
      case 4: run(std::uint32_t{}); break;
      default: run(std::uint64_t{}); break;
    }
  }
}

}  // namespace

std::optional<ValueDescriptor> find_value_descriptor(std::string_view type_name) {
  const auto found = std::ranges::find(plain_types, type_name, &Named::name);
  if (found != plain_types.end()) return found->descriptor;
  const model::GgufType* const type = model::find_gguf_type(type_name);
  return type == nullptr ? std::nullopt : scales_of(*type);
}

void check_values_natively(hip::cpu::Dimensions, hip::cpu::Dimensions, void* const* arguments) {
  const auto* const arena = value_at<const std::uint8_t*>(arguments, 0);
  const auto* const tiles = value_at<const ValueTile*>(arguments, 1);
  const auto* const descriptors = value_at<const ValueDescriptor*>(arguments, 2);
  const auto end_tile = value_at<std::uint64_t>(arguments, 4);
  auto* const results = value_at<ValueCounts*>(arguments, 5);
  for (auto i = value_at<std::uint64_t>(arguments, 3); i < end_tile; ++i) {
    const ValueTile& tile = tiles[i];
    ValueCounts found;
    check_tile(arena + tile.device_offset, tile, descriptors[tile.descriptor], found);
    if (found.nan == 0 && found.infinite == 0) continue;
    ValueCounts& result = results[tile.result];
    // Several streams may share a tensor.
    std::atomic_ref(result.nan).fetch_add(found.nan);
    std::atomic_ref(result.infinite).fetch_add(found.infinite);
    lower_to(result.first_offset, found.first_offset);
  }
}

}  // namespace hiptool::kernel_store
