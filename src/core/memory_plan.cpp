// SPDX-License-Identifier: MIT
#include "hiptool/memory_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "hiptool/error.hpp"
#include "hiptool/units.hpp"

namespace hiptool {
namespace {

constexpr std::uint64_t padding_bytes = 256;
constexpr std::uint64_t minimum_margin_bytes = 100u << 20;
constexpr std::uint64_t margin_divisor = 10;

std::uint64_t saturating_add(std::uint64_t left, std::uint64_t right) noexcept {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) return std::numeric_limits<std::uint64_t>::max();
  return sum;
}

// 70 % rounded down, without a product that could overflow.
std::uint64_t safe_share(std::uint64_t free_bytes) {
  return free_bytes / 10 * 7 + free_bytes % 10 * 7 / 10;
}

}  // namespace

std::uint64_t padded_size(std::uint64_t size_bytes) noexcept {
  const std::uint64_t rest = size_bytes % padding_bytes;
  return rest == 0 ? size_bytes : saturating_add(size_bytes, padding_bytes - rest);
}

MemoryNeed memory_need(std::span<const std::uint64_t> sizes_bytes) noexcept {
  MemoryNeed need;
  for (const std::uint64_t size_bytes : sizes_bytes) {
    need.requested_bytes = saturating_add(need.requested_bytes, size_bytes);
    need.padded_bytes = saturating_add(need.padded_bytes, padded_size(size_bytes));
  }
  need.margin_bytes = std::max(need.padded_bytes / margin_divisor, minimum_margin_bytes);
  need.total_bytes = saturating_add(need.padded_bytes, need.margin_bytes);
  return need;
}

bool can_allocate(const Device& device, std::uint64_t size_bytes) {
  return size_bytes <= device.memory().free_bytes;
}

Buffer allocate_safe(const Device& device, std::size_t size_bytes) {
  const MemoryInfo memory = device.memory();
  const std::uint64_t allowed_bytes = safe_share(memory.free_bytes);
  if (size_bytes > allowed_bytes) {
    throw Error(ErrorCode::out_of_memory, "allocate safely",
                format_size(size_bytes) + " on " + device.id() + " are more than " +
                    format_size(allowed_bytes) + ", 70 % of the " + format_size(memory.free_bytes) +
                    " that are free of " + format_size(memory.total_bytes),
                "free memory on the device, or ask for less");
  }
  return Buffer(device, size_bytes);
}

MemoryNeed check_model(const Device& device, std::span<const std::uint64_t> tensor_sizes_bytes) {
  const MemoryNeed need = memory_need(tensor_sizes_bytes);
  const MemoryInfo memory = device.memory();
  if (need.total_bytes > memory.free_bytes) {
    throw Error(ErrorCode::out_of_memory, "check model",
                "the model's " + format_size(need.requested_bytes) + " take " +
                    format_size(need.padded_bytes) + " padded and a margin of " +
                    format_size(need.margin_bytes) + " on " + device.id() + ", where " +
                    format_size(memory.free_bytes) + " of " + format_size(memory.total_bytes) +
                    " are free: " + format_size(need.total_bytes - memory.free_bytes) +
                    " too little",
                "free memory on the device, or choose a larger one or a smaller model");
  }
  return need;
}

}  // namespace hiptool
