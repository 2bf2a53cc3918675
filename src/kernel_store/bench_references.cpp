// SPDX-License-Identifier: MIT
/// Host functions of the kernels that only benches and checks launch.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "hip/cpu/kernel_table.hpp"
#include "kernel_store/references.hpp"

namespace hiptool::kernel_store {

namespace {

using hip::cpu::Dimensions;

void copy(void* const* arguments, std::uint64_t element_bytes) {
  const auto count = value_at<std::uint64_t>(arguments, 2);
  if (count == 0) return;  // the addresses may be null then
  std::memcpy(value_at<void*>(arguments, 1), value_at<const void*>(arguments, 0),
              count * element_bytes);
}

/// As kernels/pattern.hip defines it.
std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) {
  std::uint32_t word = static_cast<std::uint32_t>(index) * 0x9E3779B1u +
                       static_cast<std::uint32_t>(index >> 32) * 0x85EBCA77u + seed * 0xC2B2AE3Du;
  word = (word ^ word >> 15) * 0x85EBCA77u;
  word = (word ^ word >> 13) * 0xC2B2AE3Du;
  return word ^ word >> 16;
}

void fill_u32(Dimensions, Dimensions, void* const* arguments) {
  std::fill_n(value_at<std::uint32_t*>(arguments, 0), value_at<std::uint64_t>(arguments, 1),
              value_at<std::uint32_t>(arguments, 2));
}

void copy_16(Dimensions, Dimensions, void* const* arguments) { copy(arguments, 16); }

void copy_1(Dimensions, Dimensions, void* const* arguments) { copy(arguments, 1); }

void copy_16_passes(Dimensions, Dimensions, void* const* arguments) {
  const auto passes = value_at<std::uint32_t>(arguments, 3);
  for (std::uint32_t pass = 0; pass < passes; ++pass) copy(arguments, 16);
}

void copy_both_ways(Dimensions, Dimensions, void* const* arguments) {
  constexpr std::uint64_t unit_bytes = 16;
  auto* const here = value_at<std::byte*>(arguments, 0);
  auto* const there = value_at<std::byte*>(arguments, 1);
  const auto count = value_at<std::uint64_t>(arguments, 2);
  const auto shift = value_at<std::uint64_t>(arguments, 3);
  const std::uint64_t stretch = value_at<std::uint32_t>(arguments, 4);
  const auto passes = value_at<std::uint32_t>(arguments, 5);
  for (std::uint64_t first = 0; first < count; first += stretch) {
    const bool is_back = (first & stretch) != 0;
    const std::uint64_t units = std::min(stretch, count - first);
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      std::memcpy((is_back ? here : there) + first * unit_bytes,
                  (is_back ? there : here) + (first + shift) * unit_bytes, units * unit_bytes);
    }
  }
}

void pattern_write(Dimensions, Dimensions, void* const* arguments) {
  auto* const out = value_at<std::uint32_t*>(arguments, 0);
  const auto count = value_at<std::uint64_t>(arguments, 1);
  const auto seed = value_at<std::uint32_t>(arguments, 2);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = pattern_word(i, seed);
}

// Of the words at place(0) to place(count - 1).
template <class Place>
void check_words(void* const* arguments, std::uint64_t* result, const Place& place) {
  const auto* const in = value_at<const std::uint32_t*>(arguments, 0);
  const auto count = value_at<std::uint64_t>(arguments, 1);
  const auto seed = value_at<std::uint32_t>(arguments, 2);
  std::uint64_t wrong = 0;
  std::uint64_t first = 0;
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = place(i);
    const std::uint32_t difference = in[at] ^ pattern_word(at, seed);
    if (difference == 0) continue;
    if (wrong == 0) first = at;
    ++wrong;
    bits |= difference;
  }
  if (wrong == 0) return;
  // Checks on several streams may share one result.
  std::atomic_ref(result[0]).fetch_add(wrong);
  lower_to(result[1], first);
  std::atomic_ref(result[2]).fetch_or(bits);
}

void pattern_check(Dimensions, Dimensions, void* const* arguments) {
  check_words(arguments, value_at<std::uint64_t*>(arguments, 3), [](std::uint64_t i) { return i; });
}

void pattern_check_stretches(Dimensions, Dimensions, void* const* arguments) {
  const std::uint64_t stretch = value_at<std::uint32_t>(arguments, 3);
  const std::uint64_t first = value_at<std::uint32_t>(arguments, 4);
  check_words(arguments, value_at<std::uint64_t*>(arguments, 5),
              [=](std::uint64_t i) { return i / stretch * 2 * stretch + first + i % stretch; });
}

}  // namespace

void register_bench_references() {
  hip::cpu::register_native("hiptool_fill_u32", fill_u32);
  hip::cpu::register_native("hiptool_copy_16", copy_16);
  hip::cpu::register_native("hiptool_copy_1", copy_1);
  hip::cpu::register_native("hiptool_copy_16_passes", copy_16_passes);
  hip::cpu::register_native("hiptool_pattern_write", pattern_write);
  hip::cpu::register_native("hiptool_copy_both_ways", copy_both_ways);
  hip::cpu::register_native("hiptool_pattern_check", pattern_check);
  hip::cpu::register_native("hiptool_pattern_check_stretches", pattern_check_stretches);
}

}  // namespace hiptool::kernel_store
