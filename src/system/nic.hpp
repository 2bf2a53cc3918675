// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hiptool::system {

/// A network card: a PCI function with an RDMA device, network interfaces, or both.
struct Nic {
  std::string name;                     ///< "mlx5_0"; without RDMA that of the first interface
  std::string bus_id;                   ///< "0000:18:00.0"
  bool has_rdma = false;                ///< an InfiniBand or RoCE device
  std::vector<std::string> interfaces;  ///< "eth0"
  std::optional<bool> is_up;            ///< the port's or interface's link; absent if not reported
  std::optional<double> bits_per_s;     ///< of the link; absent without one
};

/// The cards below <root>/sys/class/infiniband and <root>/sys/class/net that are on the PCI bus, by
/// bus id (kernel documentation: ABI/stable/sysfs-class-infiniband, ABI/testing/sysfs-class-net).
/// Virtual interfaces, and those on USB, are left out.
std::vector<Nic> list_nics(const std::filesystem::path& root);

}  // namespace hiptool::system
