// SPDX-License-Identifier: MIT
#include "accept/paths.hpp"

#include "hip/patient_sensors.hpp"
#include "machine/topology.hpp"
#include "measure/boards.hpp"
#include "system/pci_path.hpp"

namespace hiptool::accept {

CopyPaths::CopyPaths(const std::vector<Device>& devices, const std::filesystem::path& root,
                     std::chrono::milliseconds patience) {
  std::vector<machine::TopologyDevice> linked;
  std::map<std::string, double> of_one_link;
  for (const Device& device : devices) {
    const DeviceInfo info = device.info();
    if (!info.pci_bus_id) continue;
    if (const auto best = system::read_pci_path(root, *info.pci_bus_id).bytes_per_s_at_best())
      slots_[device.id()] = *best;
    const auto rate = measure::nvlink_bytes_per_s(info.arch);
    if (device.platform() != Platform::nvidia || !rate) continue;
    of_one_link[device.id()] = *rate;
    linked.push_back({device.id(), device.platform(), *info.pci_bus_id, std::nullopt});
  }
  if (linked.size() < 2) return;
  const hip::SensorLibrary library = hip::open_patient_sensors(Platform::nvidia, root, patience);
  if (!library.sensors) return;
  for (machine::TopologyDevice& device : linked)
    device.nvlink_remotes = library.sensors->read(device.bus_id).link_remotes;
  for (const machine::TopologyPair& pair : machine::read_topology(root, linked, {})) {
    if (pair.kind != machine::LinkKind::nvlink || !pair.count) continue;
    nvlinks_[{pair.from, pair.to}] = static_cast<double>(*pair.count) * of_one_link.at(pair.from);
  }
}

std::optional<double> CopyPaths::best_of(const measure::CopyResult& result) const {
  const auto& devices = result.spec.devices;
  if (devices.size() == 1 && uses_host(result.spec.kind)) {
    const auto found = slots_.find(devices[0].id());
    return found == slots_.end() ? std::nullopt : std::optional(found->second);
  }
  if (devices.size() != 2) return {};
  if (result.limit && result.limit->source == "xgmi-link") return result.limit->bytes_per_s;
  const auto found = nvlinks_.find({devices[0].id(), devices[1].id()});
  return found == nvlinks_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace hiptool::accept
