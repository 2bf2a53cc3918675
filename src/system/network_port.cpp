// SPDX-License-Identifier: MIT
#include "system/network_port.hpp"

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> rdma_errors{"link_downed",
                                                      "link_error_recovery",
                                                      "symbol_error",
                                                      "port_rcv_errors",
                                                      "local_link_integrity_errors",
                                                      "excessive_buffer_overrun_errors",
                                                      "port_rcv_remote_physical_errors"};
constexpr std::array<std::string_view, 4> interface_errors{"rx_errors", "rx_crc_errors",
                                                           "tx_errors", "tx_carrier_errors"};

/// "ACTIVE" of "4: ACTIVE".
std::string after_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

template <class Names>
void read_errors(const fs::path& folder, const Names& names, NetworkPort& port) {
  for (const std::string_view name : names) {
    const auto count =
        base::parse_number<std::uint64_t>(base::read_small_file(folder / std::string(name)));
    if (count) port.errors[std::string(name)] = *count;
  }
}

std::optional<double> port_rate(std::string_view text, double factor) {
  const auto number = base::parse_number<double>(text);
  return number && *number > 0 ? std::optional(*number * factor) : std::nullopt;
}

NetworkPort read_rdma_port(const fs::path& device, const fs::path& folder) {
  NetworkPort port;
  port.name = device.filename().string() + "/" + folder.filename().string();
  const bool is_ethernet = base::read_small_file(folder / "link_layer") == "Ethernet";
  port.kind = is_ethernet ? PortKind::roce : PortKind::infiniband;
  port.model = base::read_small_file(device / "hca_type");
  port.state = after_colon(base::read_small_file(folder / "state"));
  port.is_up = port.state == "ACTIVE";
  port.has_link = after_colon(base::read_small_file(folder / "phys_state")) == "LinkUp";
  const std::string rate = base::read_small_file(folder / "rate");
  if (port.has_link) port.bits_per_s = port_rate(rate.substr(0, rate.find(' ')), 1e9);
  read_errors(folder / "counters", rdma_errors, port);
  return port;
}

}  // namespace

std::string to_string(PortKind kind) {
  switch (kind) {
    case PortKind::infiniband: return "InfiniBand";
    case PortKind::roce: return "RoCE";
    case PortKind::ethernet: break;
  }
  return "Ethernet";
}

std::vector<NetworkPort> read_network_ports(const fs::path& root) {
  std::vector<NetworkPort> ports;
  for (const fs::path& device : base::list_folder(root / "sys/class/infiniband")) {
    for (const fs::path& folder : base::list_folder(device / "ports"))
      ports.push_back(read_rdma_port(device, folder));
  }
  for (const fs::path& interface : base::list_folder(root / "sys/class/net")) {
    std::error_code ignored;
    if (!fs::exists(interface / "device", ignored)) continue;
    NetworkPort port;
    port.name = interface.filename().string();
    port.state = base::read_small_file(interface / "operstate");
    port.is_up = port.has_link = port.state == "up";
    if (port.is_up) port.bits_per_s = port_rate(base::read_small_file(interface / "speed"), 1e6);
    read_errors(interface / "statistics", interface_errors, port);
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace hiptool::system
