// SPDX-License-Identifier: MIT
#include "measure/copy_limits.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "system/pci.hpp"

namespace hiptool::measure {
namespace {

// Peak memory bandwidth of the vendor's data sheets, for devices whose clock does not give it.
struct KnownPeak {
  std::string_view name;  // part of the device's name
  double bytes_per_s;
};
constexpr std::array known_peaks{
    KnownPeak{"MI300X", 5.3e12},
    KnownPeak{"MI325X", 6.0e12},
    KnownPeak{"MI350X", 8.0e12},
    KnownPeak{"MI355X", 8.0e12},
};

// Transfers per clock of the memory that AMD devices with these archs have. The clock is that of
// the controller: HBM moves 2 and GDDR6 16 times in it (amdgpu's documentation of thermal and power
// controls, mem_info and pp_dpm_mclk); 4 on MI300 is what its data sheet comes to. Devices with the
// host's memory are left out.
struct Transfers {
  std::string_view arch;
  double per_clock;
};
constexpr std::array amd_transfers{
    Transfers{"gfx900", 2},   Transfers{"gfx906", 2},   Transfers{"gfx908", 2},
    Transfers{"gfx90a", 2},   Transfers{"gfx942", 4},   Transfers{"gfx950", 4},
    Transfers{"gfx1010", 16}, Transfers{"gfx1011", 16}, Transfers{"gfx1012", 16},
    Transfers{"gfx1030", 16}, Transfers{"gfx1031", 16}, Transfers{"gfx1032", 16},
    Transfers{"gfx1034", 16}, Transfers{"gfx1100", 16}, Transfers{"gfx1101", 16},
    Transfers{"gfx1102", 16}, Transfers{"gfx1200", 16}, Transfers{"gfx1201", 16},
};
constexpr double nvidia_transfers = 2;  // CUDA's clock is half of the data rate on every device

double transfers_per_clock(Platform platform, const DeviceInfo& info) {
  if (platform == Platform::nvidia) return nvidia_transfers;
  if (platform != Platform::amd || info.integrated.value_or(false)) return 0;
  const std::string_view arch = std::string_view(info.arch).substr(0, info.arch.find(':'));
  for (const Transfers& known : amd_transfers) {
    if (known.arch == arch) return known.per_clock;
  }
  return 0;
}

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

std::optional<CopyLimit> memory_peak(Platform platform, const DeviceInfo& info) {
  for (const KnownPeak& known : known_peaks) {
    if (platform == Platform::amd && info.name.find(known.name) != std::string::npos) {
      return CopyLimit{known.bytes_per_s, "sku-table"};
    }
  }
  const double transfers = transfers_per_clock(platform, info);
  const double clock_hz = static_cast<double>(info.memory_clock_hz.value_or(0));
  const double width_bits = static_cast<double>(info.memory_bus_width_bits.value_or(0));
  const double peak = transfers * clock_hz * width_bits / 8;
  if (!(peak > 0)) return {};
  return CopyLimit{peak, "memory-clock"};
}

std::optional<CopyLimit> limit_of(const CopyCell& cell, const std::vector<LinkObservation>& links) {
  if (cell.is_latency || cell.devices.empty()) return {};
  if (cell.kind == CopyKind::d2d) {
    const Device& device = cell.devices.front();
    auto peak = memory_peak(device.platform(), device.info());
    if (peak) peak->bytes_per_s /= 2;  // each byte is read and written
    return peak;
  }
  if (!uses_host(cell.kind)) return {};
  const auto one_way = links_bytes_per_s(cell.devices, links);
  if (!one_way) return {};
  return CopyLimit{cell.kind == CopyKind::bidir ? 2 * *one_way : *one_way, "pcie-link"};
}

}  // namespace hiptool::measure
