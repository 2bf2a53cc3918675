// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/pci.hpp"

namespace hiptool::system {

/// The path from a device to its root port. A board with a switch of its own shows the link inside
/// the board at its function; the link to the machine is some hops up, so only the slowest of all
/// limits the device.
struct PciPath {
  struct Hop {
    std::string bus_id;
    PciLink link;
  };

  std::vector<Hop> hops;  ///< the device first, the root port last

  /// The hop whose link is the slowest now, or at its best; the first of equal ones. Null where no
  /// hop reports both speed and width.
  const Hop* slowest_now() const;
  const Hop* slowest_at_best() const;

  /// Bytes per second of the whole path in one direction, after line coding; absent where unknown.
  std::optional<double> bytes_per_s_now() const;
  std::optional<double> bytes_per_s_at_best() const;
};

/// Reads <root>/sys; a device that is not there has no hops. Speeds are current ones: an
/// idle link may be slower than one under load.
PciPath read_pci_path(const std::filesystem::path& root, std::string_view bus_id);

}  // namespace hiptool::system
