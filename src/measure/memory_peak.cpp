// SPDX-License-Identifier: MIT
#include "measure/memory_peak.hpp"

#include <array>
#include <cctype>
#include <string_view>

namespace hiptool::measure {
namespace {

struct Board {
  std::string_view name;  ///< stands as whole words in the name that the runtime gives
  double bytes_per_s;     ///< of one device: a board with two has half of its sheet's figure
};

// Checked in November 2026. AMD's own pages could not be read then, so the sources are second-hand:
// Vultr's ROCm guide (MI300X, MI325X), Boston Limited (MI355X), a summary of Wahlgren et al. 2025
// (MI300A, "5.3 to 5.6"), Wikipedia (MI50), IT Creations (W7900), hardwareluxx.de (W6800),
// svethardware.cz (RX 9070 GRE), else tables that say they follow amd.com: one alone for RX 5700
// XT, RX 6600 and RX 6600 XT, two that agree for the other RX. MI100 and the dies of MI200 are
// exact by clock (1.2 and 1.6 GHz) and width (4096 bits); of MI350X only the 8 TB/s of its kind is
// known. Longer names first: "RX 7900 XTX" is no "RX 7900 XT".
constexpr std::array boards{
    Board{"MI355X", 8.0e12},    Board{"MI350X", 8.0e12},     Board{"MI325X", 6.0e12},
    Board{"MI300X", 5.3e12},    Board{"MI300A", 5.3e12},     Board{"MI250X", 1.6384e12},
    Board{"MI250", 1.6384e12},  Board{"MI210", 1.6384e12},   Board{"MI100", 1.2288e12},
    Board{"MI50", 1.024e12},    Board{"RX 9070 XT", 640e9},  Board{"RX 9070 GRE", 432e9},
    Board{"RX 9070", 640e9},    Board{"RX 9060 XT", 320e9},  Board{"RX 7900 XTX", 960e9},
    Board{"RX 7900 XT", 800e9}, Board{"RX 7900 GRE", 576e9}, Board{"RX 7800 XT", 624e9},
    Board{"RX 7700 XT", 432e9}, Board{"RX 7600", 288e9},     Board{"PRO W7900", 864e9},
    Board{"PRO W6800", 512e9},  Board{"RX 6950 XT", 576e9},  Board{"RX 6900 XT", 512e9},
    Board{"RX 6800 XT", 512e9}, Board{"RX 6800", 512e9},     Board{"RX 6700 XT", 384e9},
    Board{"RX 6600 XT", 256e9}, Board{"RX 6600", 224e9},     Board{"RX 5700 XT", 448e9},
};

bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool has_words(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return false;
  const auto end = at + words.size();
  return (at == 0 || !is_word_part(text[at - 1])) &&
         (end == text.size() || !is_word_part(text[end]));
}

struct Transfers {
  std::string_view arch;  ///< how it begins
  double for_each_clock;
};

constexpr std::array transfers{
    Transfers{"gfx942", 4}, Transfers{"gfx950", 4}, Transfers{"gfx90", 2},  Transfers{"gfx803", 4},
    Transfers{"gfx10", 16}, Transfers{"gfx11", 16}, Transfers{"gfx12", 16},
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
    for (const Board& board : boards) {
      if (has_words(info.name, board.name)) return MemoryPeak{board.bytes_per_s, "sku-table"};
    }
    // LPDDR's clock and width are told for one channel of the host's memory.
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

}  // namespace hiptool::measure
