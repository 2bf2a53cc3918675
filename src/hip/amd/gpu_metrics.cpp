// SPDX-License-Identifier: MIT
#include "hip/amd/gpu_metrics.hpp"

#include <cstring>

#include "base/contains.hpp"
#include "hip/sensors.hpp"

namespace hiptool::hip::amd {
namespace {

constexpr const char* hot_signal = "PROCHOT";  // from outside of the chip, or its last resort
constexpr const char* power_cap = "power cap";
constexpr const char* current_limit = "current limit";
constexpr const char* hot_chip = "thermal slowdown: chip";
constexpr const char* hot_regulators = "thermal slowdown: voltage regulators";
constexpr const char* hot_memory = "thermal slowdown: memory";
constexpr std::array residency_texts{hot_signal, power_cap, hot_chip, hot_regulators, hot_memory};

struct BitRange {
  unsigned first;
  unsigned last;
  const char* text;
};
// SMU_THROTTLER_PPT0_BIT to SMU_THROTTLER_PROCHOT_GFX_BIT.
constexpr BitRange bit_ranges[] = {
    {0, 15, power_cap},   {16, 31, current_limit},  {32, 33, hot_chip},
    {34, 34, hot_memory}, {35, 37, hot_chip},       {38, 41, hot_regulators},
    {42, 43, hot_chip},   {44, 45, hot_regulators}, {46, 47, hot_signal},
};

template <class Number>
std::optional<Number> number_at(std::string_view bytes, std::size_t offset) {
  if (bytes.size() < offset + sizeof(Number)) return {};
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof(Number));
  return number;
}

std::optional<Residencies> residencies_at(std::string_view bytes, std::size_t offset) {
  Residencies residencies{};
  for (std::size_t i = 0; i < residencies.size(); ++i) {
    const auto one = number_at<std::uint32_t>(bytes, offset + i * sizeof(std::uint32_t));
    if (!one) return {};
    residencies[i] = *one;
  }
  return residencies;
}

}  // namespace

GpuMetrics parse_gpu_metrics(std::string_view bytes) {
  constexpr std::size_t throttle_offset = 112;      // of 1.3: indep_throttle_status
  constexpr std::size_t residencies_offset_6 = 36;  // of 1.6: prochot_residency_acc
  constexpr std::size_t residencies_offset_7 = 44;  // of 1.7, the same
  GpuMetrics metrics;
  const auto format = number_at<std::uint8_t>(bytes, 2);
  const auto content = number_at<std::uint8_t>(bytes, 3);
  if (format != 1 || !content) return metrics;
  if (*content == 3) metrics.throttle_bits = number_at<std::uint64_t>(bytes, throttle_offset);
  if (*content == 6) metrics.residencies = residencies_at(bytes, residencies_offset_6);
  if (*content == 7) metrics.residencies = residencies_at(bytes, residencies_offset_7);
  // All ones are what the driver writes where the chip does not report a field.
  if (metrics.throttle_bits == ~std::uint64_t{0}) metrics.throttle_bits.reset();
  return metrics;
}

std::vector<std::string> reasons_of(std::uint64_t throttle_bits) {
  std::vector<std::string> reasons;
  for (const BitRange& range : bit_ranges) {
    for (unsigned bit = range.first; bit <= range.last; ++bit) {
      if ((throttle_bits >> bit & 1) != 0) base::add_once(reasons, range.text);
    }
  }
  return reasons;
}

std::vector<std::string> reasons_of(const Residencies& before, const Residencies& now) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] != before[i]) reasons.emplace_back(residency_texts[i]);
  }
  return reasons;
}

bool is_hardware_slowdown(std::string_view throttle_reason) noexcept {
  return throttle_reason == hot_signal;
}

}  // namespace hiptool::hip::amd
