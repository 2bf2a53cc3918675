// SPDX-License-Identifier: MIT
#include "system/pci_path.hpp"

#include <system_error>
#include <utility>

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

std::optional<double> rate(const std::optional<double>& speed_gt_s,
                           const std::optional<std::uint64_t>& width) {
  if (!speed_gt_s || !width) return {};
  return pcie_bytes_per_s(*speed_gt_s, *width);
}

std::optional<double> rate_now(const PciLink& link) { return rate(link.speed_gt_s, link.width); }

std::optional<double> rate_at_best(const PciLink& link) {
  return rate(link.max_speed_gt_s, link.max_width);
}

template <class Rate>
const PciPath::Hop* slowest(const std::vector<PciPath::Hop>& hops, Rate rate) {
  const PciPath::Hop* found = nullptr;
  for (const PciPath::Hop& hop : hops) {
    if (!rate(hop.link)) continue;
    if (found == nullptr || *rate(hop.link) < *rate(found->link)) found = &hop;
  }
  return found;
}

}  // namespace

const PciPath::Hop* PciPath::slowest_now() const { return slowest(hops, rate_now); }

const PciPath::Hop* PciPath::slowest_at_best() const { return slowest(hops, rate_at_best); }

std::optional<double> PciPath::bytes_per_s_now() const {
  const Hop* hop = slowest_now();
  return hop == nullptr ? std::nullopt : rate_now(hop->link);
}

std::optional<double> PciPath::bytes_per_s_at_best() const {
  const Hop* hop = slowest_at_best();
  return hop == nullptr ? std::nullopt : rate_at_best(hop->link);
}

PciPath read_pci_path(const fs::path& root, std::string_view bus_id) {
  PciPath path;
  const std::string name = normalize_bus_id(bus_id);
  if (name.empty()) return path;
  // The entry is a link to sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0: its folders above that
  // have the form of a bus id are the bridges between.
  std::error_code error;
  fs::path folder = fs::canonical(root / "sys/bus/pci/devices" / name, error);
  if (error) return path;
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    std::string hop = normalize_bus_id(folder.filename().string());
    if (hop.empty()) break;
    // Read in place: all of them are listed below sys/bus/pci/devices, too.
    const auto device = find_pci_device(root, hop);
    path.hops.push_back({std::move(hop), device ? device->link : PciLink{}});
  }
  return path;
}

}  // namespace hiptool::system
