// SPDX-License-Identifier: MIT
#include "system/pci_config.hpp"

#include <cstddef>
#include <string>

#include "base/file.hpp"
#include "system/pci.hpp"

namespace hiptool::system {
namespace {

constexpr std::size_t first_extended = 0x100;
constexpr unsigned acs_id = 0x000d;
constexpr std::size_t acs_control = 6;
constexpr unsigned request_redirect = 1U << 2;
constexpr unsigned completion_redirect = 1U << 3;

unsigned byte_at(const std::string& config, std::size_t at) {
  return static_cast<unsigned char>(config[at]);
}

unsigned word_at(const std::string& config, std::size_t at) {
  return byte_at(config, at) | byte_at(config, at + 1) << 8;
}

}  // namespace

PeerRouting read_peer_routing(const std::filesystem::path& root, std::string_view bus_id) {
  const std::string name = normalize_bus_id(bus_id);
  if (name.empty()) return PeerRouting::unknown;
  const std::string config = base::read_small_file(root / "sys/bus/pci/devices" / name / "config");
  if (config.size() <= first_extended) return PeerRouting::unknown;
  // A header is 16 bits of id, 4 of version, 12 of the next one's place; the chain only goes up.
  for (std::size_t at = first_extended; at + 8 <= config.size();) {
    if (word_at(config, at) == acs_id) {
      const unsigned control = word_at(config, at + acs_control);
      const bool is_redirected = (control & (request_redirect | completion_redirect)) != 0;
      return is_redirected ? PeerRouting::redirected : PeerRouting::direct;
    }
    const std::size_t next = word_at(config, at + 2) >> 4;
    if (next <= at) break;
    at = next;
  }
  return PeerRouting::direct;
}

}  // namespace hiptool::system
