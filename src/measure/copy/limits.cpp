// SPDX-License-Identifier: MIT
#include "measure/copy/limits.hpp"

#include <algorithm>
#include <map>

#include "measure/peak.hpp"
#include "system/pci.hpp"

namespace hiptool::measure {
namespace {

const LinkObservation* find_link(const std::vector<LinkObservation>& links, const Device& device) {
  const std::string bus_id = system::normalize_bus_id(device.info().pci_bus_id.value_or(""));
  const auto found = std::find_if(links.begin(), links.end(), [&](const LinkObservation& link) {
    return !bus_id.empty() && link.bus_id == bus_id;
  });
  return found != links.end() && found->fastest_bytes_per_s ? &*found : nullptr;
}

double rate_of(const system::PciPath::Hop& hop) {
  if (!hop.link.speed_gt_s || !hop.link.width) return 0;
  return system::pcie_bytes_per_s(*hop.link.speed_gt_s, *hop.link.width);
}

// All links together in one direction; devices below one root port share it.
std::optional<double> links_bytes_per_s(const std::vector<Device>& devices,
                                        const std::vector<LinkObservation>& links) {
  struct Port {
    double sum = 0;
    double most = 0;  // 0: unknown
  };
  std::map<std::string, Port> ports;
  for (const Device& device : devices) {
    const LinkObservation* link = find_link(links, device);
    if (link == nullptr) return {};
    const system::PciPath::Hop& root = link->fastest->hops.back();
    Port& port = ports[root.bus_id];
    port.sum += *link->fastest_bytes_per_s;
    port.most = rate_of(root);
  }
  double total = 0;
  for (const auto& [bus_id, port] : ports) {
    total += port.most > 0 ? std::min(port.sum, port.most) : port.sum;
  }
  return total;
}

}  // namespace

std::optional<CopyLimit> limit_of(const CopySpec& spec, const std::vector<LinkObservation>& links) {
  if (spec.is_latency || spec.devices.empty()) return {};
  if (spec.kind == CopyKind::d2d) {
    const Device& device = spec.devices.front();
    const DeviceInfo& info = device.info();
    const auto peak = memory_peak(device.platform(), info);
    if (!peak) return {};
    // Each byte is read and written.
    return CopyLimit{peak->bytes_per_s / 2, peak->source, info.l2_cache_bytes};
  }
  if (!uses_host(spec.kind)) return {};
  const auto one_way = links_bytes_per_s(spec.devices, links);
  if (!one_way) return {};
  return CopyLimit{spec.kind == CopyKind::bidir ? 2 * *one_way : *one_way, "pcie-link"};
}

}  // namespace hiptool::measure
