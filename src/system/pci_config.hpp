// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

namespace hiptool::system {

/// How the Access Control Services of a bridge route requests from one device to another below it:
/// directly, or first up to the processor (PCI Express base specification 7.7.8).
enum class PeerRouting {
  direct,
  redirected,
  unknown,  ///< the configuration space cannot be read beyond its first 64 or 256 bytes
};

/// Reads <root>/sys/bus/pci/devices/<bus_id>/config, of which an ordinary user sees 64 bytes.
PeerRouting read_peer_routing(const std::filesystem::path& root, std::string_view bus_id);

}  // namespace hiptool::system
