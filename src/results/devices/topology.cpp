// SPDX-License-Identifier: MIT
#include "results/devices/topology.hpp"

#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "machine/selection.hpp"

namespace hiptool::results {

using machine::DeviceFacts;
using machine::Inventory;

TopologyFindings find_topology(const Inventory& inventory, const std::filesystem::path& root,
                               const machine::AskPeer& ask_peer) {
  TopologyFindings topology;
  std::vector<machine::TopologyDevice> devices;
  for (const DeviceFacts& facts : inventory.devices) {
    if (!machine::is_gpu(facts.platform)) continue;
    machine::TopologyDevice& device = devices.emplace_back();
    device.id = facts.id;
    device.platform = facts.platform;
    device.bus_id = system::normalize_bus_id(facts.info.pci_bus_id.value_or(""));
    topology.ids.push_back(facts.id);
    if (facts.sensors) device.nvlink_remotes = facts.sensors->link_remotes;
    topology.places.push_back(machine::read_place(root, device.id, device.bus_id));
  }
  topology.pairs = machine::read_topology(root, devices, ask_peer);
  topology.nics = system::list_nics(root);
  topology.to_nics = machine::read_nic_topology(root, devices, topology.nics);
  for (const system::Nic& nic : topology.nics) {
    topology.places.push_back(machine::read_place(root, nic.name, nic.bus_id));
  }
  return topology;
}

void add_costs(const report::RunFile& file, const std::filesystem::path& root,
               TopologyFindings& topology) {
  const std::vector<machine::TopologyPlace> devices(
      topology.places.begin(),
      topology.places.begin() + static_cast<std::ptrdiff_t>(topology.ids.size()));
  topology.costs = machine::read_costs(file, root, devices, topology.pairs);
  topology.costs_path = file.path;
}

machine::AskPeer peers_of(Platforms& platforms) {
  return [&platforms](const std::string& from, const std::string& to) -> std::optional<bool> {
    try {
      return can_access_peer(find_device(platforms, from), find_device(platforms, to));
    } catch (const Error&) {
      return {};
    }
  };
}

}  // namespace hiptool::results
