// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hiptool::system {

enum class PortKind { infiniband, roce, ethernet };
/// "InfiniBand", "RoCE", "Ethernet".
std::string to_string(PortKind kind);

/// A port of an RDMA device, or a network interface of a card.
struct NetworkPort {
  std::string name;  ///< "mlx5_0/1", "eth0"
  PortKind kind = PortKind::ethernet;
  std::string model;  ///< "MT4129" of an RDMA device; empty for interfaces
  std::string state;  ///< "ACTIVE", "INIT", "DOWN"; "up", "down"
  bool is_up = false;
  bool has_link = false;  ///< of InfiniBand, whose port may have a link and not be active
  std::optional<double> bits_per_s;             ///< absent without a link
  std::map<std::string, std::uint64_t> errors;  ///< counters, since the start of the driver
};

/// The ports below <root>/sys/class/infiniband and the interfaces below <root>/sys/class/net that
/// belong to a device (kernel documentation: ABI/stable/sysfs-class-infiniband,
/// ABI/testing/sysfs-class-net, ABI/testing/sysfs-class-net-statistics), by name.
std::vector<NetworkPort> read_network_ports(const std::filesystem::path& root);

}  // namespace hiptool::system
