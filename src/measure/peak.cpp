// SPDX-License-Identifier: MIT
#include "measure/peak.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/units.hpp"
#include "measure/boards.hpp"

namespace hiptool::measure {
namespace {

struct Transfers {
  std::string_view arch;  ///< prefix
  double for_each_clock;
};

// HBM, GDDR5 and GDDR6. MI300 and MI350 (gfx94, gfx95) have HBM too, but twice their clock times
// their width is half of the published figure.
constexpr std::array transfers{
    Transfers{"gfx90", 2},  Transfers{"gfx803", 4}, Transfers{"gfx10", 16},
    Transfers{"gfx11", 16}, Transfers{"gfx12", 16},
};

std::optional<double> transfers_for_each_clock(Platform platform, const DeviceInfo& info) {
  if (platform == Platform::nvidia) return 2;
  if (platform != Platform::amd) return {};
  for (const Transfers& entry : transfers) {
    if (info.arch.rfind(entry.arch, 0) == 0) return entry.for_each_clock;
  }
  return {};
}

}  // namespace

std::optional<MemoryPeak> memory_peak(Platform platform, const DeviceInfo& info) {
  if (platform == Platform::amd) {
    // A board that is not listed has no figure of its vendor: its peak is computed from the clock.
    const Board* const board = find_board(platform, info.name);
    if (board != nullptr) return MemoryPeak{board->memory, "sku-table"};
    // The runtime reports clock and width of one LPDDR channel of the host's memory.
    if (info.integrated.value_or(false)) return {};
  }
  const auto factor = transfers_for_each_clock(platform, info);
  if (!factor || info.memory_clock_hz.value_or(0) == 0 ||
      info.memory_bus_width_bits.value_or(0) == 0) {
    return {};
  }
  return MemoryPeak{*factor * static_cast<double>(*info.memory_clock_hz) *
                        static_cast<double>(*info.memory_bus_width_bits) / 8,
                    "memory-clock"};
}

Share share_of(double rate, double peak, const std::string& peak_name, const std::string& cause) {
  const double share = rate / peak;
  if (share <= 1) return {share, {}};
  if (share <= most_share) {
    return {share,
            {},
            "the rate is " + fmt::format("{:.1f} %", 100 * share) + " of " + peak_name +
                ", within the rounding of published peaks and clocks"};
  }
  std::string reason = "the rate is " + format_share(share) + " of " + peak_name +
                       ", which is therefore not its limit";
  if (!cause.empty()) reason += ": " + cause;
  return {std::nullopt, std::move(reason), {}, true};
}

std::string cache_cause(double data_bytes, std::optional<std::uint64_t> l2_cache_bytes) {
  if (!l2_cache_bytes || data_bytes > static_cast<double>(*l2_cache_bytes)) return {};
  return "the data (" + format_size(static_cast<std::uint64_t>(data_bytes)) +
         ") fit in the L2 cache of " + format_size(*l2_cache_bytes);
}

void set_share(Share share, report::Measurement& measured) {
  measured.share_of_limit = share.value;
  measured.share_reason = std::move(share.value ? share.remark : share.missing);
  measured.is_above_limit = share.is_above;
}

}  // namespace hiptool::measure
