// SPDX-License-Identifier: MIT
#include "system/nic.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/pci.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

// The link leads to the PCI function, or to a part of it (virtio's "virtio0").
std::string bus_id_behind(const fs::path& entry) {
  std::error_code error;
  const fs::path device = fs::canonical(entry / "device", error);
  if (error) return {};
  const std::string own = normalize_bus_id(device.filename().string());
  if (!own.empty()) return own;
  const bool is_part = device.filename().string().rfind("virtio", 0) == 0;
  return is_part ? normalize_bus_id(device.parent_path().filename().string()) : std::string();
}

std::optional<double> scaled_number(std::string_view text, double factor) {
  const auto number = base::parse_number<double>(text);
  return number && *number > 0 ? std::optional(*number * factor) : std::nullopt;
}

// Ports of a device: "state" is "4: ACTIVE", "rate" is "400 Gb/sec (4X NDR)".
void read_ports(const fs::path& device, Nic& nic) {
  for (const fs::path& port : base::list_folder(device / "ports")) {
    const std::string state = base::read_small_file(port / "state");
    if (state.empty()) continue;
    const bool is_active = state.rfind("4:", 0) == 0;
    nic.is_up = nic.is_up.value_or(false) || is_active;
    const std::string rate = base::read_small_file(port / "rate");
    if (is_active) nic.bits_per_s = scaled_number(rate.substr(0, rate.find(' ')), 1e9);
  }
}

// "speed" is in Mbit/s, -1 without a link.
void read_interface(const fs::path& interface, Nic& nic) {
  const std::string state = base::read_small_file(interface / "operstate");
  if (state != "up" && state != "down") return;
  nic.is_up = nic.is_up.value_or(false) || state == "up";
  if (state == "up" && !nic.bits_per_s) {
    nic.bits_per_s = scaled_number(base::read_small_file(interface / "speed"), 1e6);
  }
}

}  // namespace

std::vector<Nic> list_nics(const fs::path& root) {
  std::map<std::string, Nic> by_bus_id;
  const auto card_of = [&by_bus_id](const fs::path& entry) -> Nic* {
    std::string bus_id = bus_id_behind(entry);
    if (bus_id.empty()) return nullptr;
    Nic& nic = by_bus_id[bus_id];
    nic.bus_id = std::move(bus_id);
    if (nic.name.empty()) nic.name = entry.filename().string();
    return &nic;
  };
  for (const fs::path& entry : base::list_folder(root / "sys/class/infiniband")) {
    Nic* const nic = card_of(entry);
    if (nic == nullptr) continue;
    nic->has_rdma = true;
    read_ports(entry, *nic);
  }
  for (const fs::path& entry : base::list_folder(root / "sys/class/net")) {
    Nic* const nic = card_of(entry);
    if (nic == nullptr) continue;
    nic->interfaces.push_back(entry.filename().string());
    read_interface(entry, *nic);
  }
  std::vector<Nic> nics;
  for (auto& [bus_id, nic] : by_bus_id) nics.push_back(std::move(nic));
  return nics;
}

}  // namespace hiptool::system
