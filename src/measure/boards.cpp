// SPDX-License-Identifier: MIT
#include "measure/boards.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace hiptool::measure {
namespace {

constexpr Platform amd = Platform::amd;
constexpr Platform nvidia = Platform::nvidia;

// 16 lanes of PCI Express 4.0 and 5.0 after line coding.
constexpr double pcie4 = 31.5e9;
constexpr double pcie5 = 63.0e9;

struct NvlinkRate {
  std::string_view arch;
  double bytes_per_s;
};

constexpr std::array nvlink_rates{
    NvlinkRate{"sm_80", 25e9},
    NvlinkRate{"sm_90", 25e9},
    NvlinkRate{"sm_100", 50e9},
};

// clang-format off
// Memory, link, peer; measured: link, peer, product; compute units.
constexpr std::array boards{
    Board{amd,    "MI355X",           8.0e12,    pcie5, 76.8e9, 0,    0,     946e12, 256},
    Board{amd,    "MI350X",           8.0e12,    pcie5, 76.8e9, 0,    0,     946e12, 256},
    Board{amd,    "MI325X",           6.0e12,    pcie5, 64e9,   0,    0,     524e12, 304},
    Board{amd,    "MI300X",           5.3e12,    0,     64e9,   48e9, 44e9,  523e12, 304},
    Board{amd,    "MI250X",           1.6384e12, 0,     50e9,   0,    0,     0,      110},
    Board{amd,    "MI210",            1.6384e12, pcie4, 0,      0,    0,     150e12, 104},
    Board{amd,    "PRO W7900",        864e9,     pcie4, 0,      0,    0,     0,      0},
    Board{amd,    "RX 9070 XT",       640e9,     pcie5, 0,      0,    0,     0,      0},
    Board{amd,    "RX 7900 XTX",      960e9,     pcie4, 0,      0,    0,     0,      0},
    Board{amd,    "RX 7900 XT",       800e9,     0,     0,      0,    0,     0,      0},
    Board{amd,    "RX 7600",          288e9,     0,     0,      0,    0,     0,      0},
    Board{amd,    "RX 6950 XT",       576e9,     0,     0,      0,    0,     0,      0},
    Board{nvidia, "B200",             8.0e12,    pcie5, 900e9,  0,    0,     0,      0},
    Board{nvidia, "H200",             4.8e12,    pcie5, 450e9,  48e9, 335e9, 730e12, 0},
    Board{nvidia, "H200 NVL",         4.8e12,    pcie5, 0,      0,    0,     0,      0},
    Board{nvidia, "H100 80GB HBM3",   3.35e12,   pcie5, 450e9,  48e9, 335e9, 730e12, 0},
    Board{nvidia, "H100 NVL",         3.9e12,    pcie5, 0,      48e9, 0,     0,      0},
    Board{nvidia, "H100 PCIe",        2.0e12,    pcie5, 0,      0,    0,     0,      0},
    Board{nvidia, "A100-SXM4-80GB",   2.039e12,  pcie4, 300e9,  21e9, 238e9, 270e12, 0},
    Board{nvidia, "A100-SXM4-40GB",   1.555e12,  pcie4, 300e9,  21e9, 235e9, 270e12, 0},
    Board{nvidia, "A100 80GB PCIe",   1.935e12,  pcie4, 0,      21e9, 0,     224e12, 0},
    Board{nvidia, "A100-PCIE-40GB",   1.555e12,  pcie4, 0,      0,    0,     224e12, 0},
    Board{nvidia, "L40S",             864e9,     pcie4, 0,      0,    0,     0,      0},
    Board{nvidia, "GeForce RTX 5090", 1.792e12,  pcie5, 0,      0,    0,     0,      0},
    Board{nvidia, "GeForce RTX 4090", 1.008e12,  pcie4, 0,      0,    0,     0,      0},
};
// clang-format on

bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool has_words(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return false;
  const auto end = at + words.size();
  return (at == 0 || !is_word_part(text[at - 1])) &&
         (end == text.size() || !is_word_part(text[end]));
}

bool is_named(const Board& board, std::string_view device_name) {
  if (board.platform == amd) return has_words(device_name, board.name);
  // "RTX 4090 Laptop GPU" and "H100 80GB HBM3 MIG 1g.10gb" are others.
  constexpr std::string_view vendor = "NVIDIA ";
  if (device_name.starts_with(vendor)) device_name.remove_prefix(vendor.size());
  return device_name == board.name;
}

}  // namespace

const Board* find_board(Platform platform, std::string_view device_name) {
  const auto* const found = std::ranges::find_if(boards, [&](const Board& board) {
    return board.platform == platform && is_named(board, device_name);
  });
  return found == boards.end() ? nullptr : &*found;
}

std::optional<PublishedRate> published_rate(Platform platform, const DeviceInfo& info,
                                            RateKind kind) {
  const Board* const board = find_board(platform, info.name);
  if (board == nullptr) return {};
  const bool is_part = board->compute_units > 0 &&
                       info.compute_units.value_or(board->compute_units) < board->compute_units;
  if (is_part) return {};
  double stated = 0;
  double seen = 0;
  switch (kind) {
    case RateKind::memory: stated = board->memory; break;
    case RateKind::link:
      stated = board->link;
      seen = board->link_seen;
      break;
    case RateKind::peer:
      stated = board->peer;
      seen = board->peer_seen;
      break;
    case RateKind::product: seen = board->product_seen; break;
  }
  if (seen > 0) return PublishedRate{seen, true};
  if (stated > 0) return PublishedRate{stated, false};
  return {};
}

std::optional<double> nvlink_bytes_per_s(std::string_view arch) {
  const auto* const found = std::ranges::find(nvlink_rates, arch, &NvlinkRate::arch);
  if (found == nvlink_rates.end()) return {};
  return found->bytes_per_s;
}

}  // namespace hiptool::measure
