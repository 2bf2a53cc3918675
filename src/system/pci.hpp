// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::system {

/// PCI vendors of the GPUs that a platform exists for.
inline constexpr std::uint32_t vendor_amd = 0x1002;
inline constexpr std::uint32_t vendor_nvidia = 0x10de;

/// The link of a PCI device as sysfs reports it; an idle GPU may show a lower speed than under
/// load.
struct PciLink {
  std::optional<double> speed_gt_s;
  std::optional<std::uint64_t> width;
  std::optional<double> max_speed_gt_s;
  std::optional<std::uint64_t> max_width;
};

/// One PCI device read below <root>/sys/bus/pci/devices.
struct PciDevice {
  std::string bus_id;  ///< "0000:65:00.0"
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t class_code = 0;  ///< 24 bits, 0x030200
  std::string driver;            ///< name of the bound driver, empty if none
  std::optional<int> numa_node;  ///< absent where the kernel reports -1
  PciLink link;
};

/// Display controllers (class 0x03xx) and processing accelerators (0x1200) of AMD and NVIDIA, by
/// bus id; of one vendor if one is given. Reads below `root` only; unreadable entries are left out;
/// never throws for a missing /sys.
std::vector<PciDevice> list_gpus(const std::filesystem::path& root,
                                 std::optional<std::uint32_t> vendor = {});

/// The same devices without driver, NUMA node and link: the kernel asks a device for the state of
/// its link, which takes time.
std::vector<PciDevice> identify_gpus(const std::filesystem::path& root,
                                     std::optional<std::uint32_t> vendor = {});

/// Bus id of the vendor's first GPU; empty if there is none.
std::string find_gpu(const std::filesystem::path& root, std::uint32_t vendor);

/// The device with that bus id (domain may be missing or longer, case does not matter).
std::optional<PciDevice> find_pci_device(const std::filesystem::path& root,
                                         std::string_view bus_id);

/// "0000:65:00.0".
std::string format_bus_id(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                          std::uint32_t function);

/// The bus id in the form "0000:65:00.0"; empty if the text is not one.
std::string normalize_bus_id(std::string_view text);

/// Bytes per second of a link in one direction after line coding: 8b/10b up to 5 GT/s, 128b/130b
/// from 8 GT/s, FLIT 242/256 at 64 GT/s (PCI Express base specifications 2 to 6).
double pcie_bytes_per_s(double speed_gt_s, std::uint64_t width);

}  // namespace hiptool::system
