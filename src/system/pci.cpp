// SPDX-License-Identifier: MIT
#include "system/pci.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

constexpr const char* devices_folder = "sys/bus/pci/devices";
constexpr std::uint64_t widest_link = 32;  // PCI Express base specification 7.5.3.6

// sysfs writes "0x1002".
std::optional<std::uint32_t> read_hex(const fs::path& file) {
  const std::string text = base::read_small_file(file);
  if (text.rfind("0x", 0) != 0) return {};
  return base::parse_number<std::uint32_t>(std::string_view(text).substr(2), 16);
}

// "16.0 GT/s PCIe", "2.5 GT/s"; "Unknown" where the kernel does not have it.
std::optional<double> read_speed(const fs::path& file) {
  const std::string text = base::read_small_file(file);
  const std::size_t unit = text.find(" GT/s");
  if (unit == std::string::npos) return {};
  const auto speed = base::parse_number<double>(std::string_view(text).substr(0, unit));
  return speed && *speed > 0 ? speed : std::nullopt;
}

// 0 and 255 mean "unknown".
std::optional<std::uint64_t> read_width(const fs::path& file) {
  const auto width = base::parse_number<std::uint64_t>(base::read_small_file(file));
  return width && *width > 0 && *width <= widest_link ? width : std::nullopt;
}

// What tells a GPU from another device.
std::optional<PciDevice> identify(const fs::path& folder, std::string bus_id) {
  const auto vendor = read_hex(folder / "vendor");
  const auto device = read_hex(folder / "device");
  const auto class_code = read_hex(folder / "class");
  if (!vendor || !device || !class_code) return {};
  PciDevice found;
  found.bus_id = std::move(bus_id);
  found.vendor = *vendor;
  found.device = *device;
  found.class_code = *class_code;
  return found;
}

// The rest. The kernel asks the device for the state of its link.
void read_state(const fs::path& folder, PciDevice& device) {
  std::error_code ignored;
  device.driver = fs::read_symlink(folder / "driver", ignored).filename().string();
  const auto node = base::parse_number<int>(base::read_small_file(folder / "numa_node"));
  if (node && *node >= 0) device.numa_node = node;
  device.link.speed_gt_s = read_speed(folder / "current_link_speed");
  device.link.width = read_width(folder / "current_link_width");
  device.link.max_speed_gt_s = read_speed(folder / "max_link_speed");
  device.link.max_width = read_width(folder / "max_link_width");
}

bool is_gpu(const PciDevice& device) {
  const bool is_known_vendor = device.vendor == vendor_amd || device.vendor == vendor_nvidia;
  const bool is_display = device.class_code >> 16 == 0x03;
  const bool is_accelerator = device.class_code >> 8 == 0x1200;
  return is_known_vendor && (is_display || is_accelerator);
}

// Only the domain varies in length, without leading zeros beyond four digits.
bool stands_before(const PciDevice& left, const PciDevice& right) {
  return std::pair(left.bus_id.size(), left.bus_id) < std::pair(right.bus_id.size(), right.bus_id);
}

std::optional<std::uint32_t> parse_field(std::string_view text, std::size_t digits,
                                         std::uint32_t largest) {
  if (text.empty() || text.size() > digits) return {};
  const auto value = base::parse_number<std::uint32_t>(text, 16);
  return value && *value <= largest ? value : std::nullopt;
}

}  // namespace

std::vector<PciDevice> identify_gpus(const fs::path& root, std::optional<std::uint32_t> vendor) {
  std::vector<PciDevice> gpus;
  for (const fs::path& folder : base::list_folder(root / devices_folder)) {
    std::string bus_id = normalize_bus_id(folder.filename().string());
    if (bus_id.empty()) continue;
    auto device = identify(folder, std::move(bus_id));
    if (!device || !is_gpu(*device) || (vendor && device->vendor != *vendor)) continue;
    gpus.push_back(std::move(*device));
  }
  std::ranges::sort(gpus, stands_before);
  return gpus;
}

std::vector<PciDevice> list_gpus(const fs::path& root, std::optional<std::uint32_t> vendor) {
  std::vector<PciDevice> gpus = identify_gpus(root, vendor);
  for (PciDevice& gpu : gpus) read_state(root / devices_folder / gpu.bus_id, gpu);
  return gpus;
}

std::string find_gpu(const fs::path& root, std::uint32_t vendor) {
  const std::vector<PciDevice> gpus = identify_gpus(root, vendor);
  return gpus.empty() ? std::string() : gpus.front().bus_id;
}

std::optional<PciDevice> find_pci_device(const fs::path& root, std::string_view bus_id) {
  const std::string name = normalize_bus_id(bus_id);
  if (name.empty()) return {};
  const fs::path folder = root / devices_folder / name;
  auto device = identify(folder, name);
  if (device) read_state(folder, *device);
  return device;
}

std::string format_bus_id(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                          std::uint32_t function) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text.data();
}

std::string normalize_bus_id(std::string_view text) {
  const auto dot = text.rfind('.');
  const auto colon = text.substr(0, dot).rfind(':');
  if (dot == std::string_view::npos || colon == std::string_view::npos) return {};
  const auto function = parse_field(text.substr(dot + 1), 1, 7);
  const auto device = parse_field(text.substr(colon + 1, dot - colon - 1), 2, 31);
  std::string_view bus_text = text.substr(0, colon);
  std::optional<std::uint32_t> domain = 0;
  if (const auto split = bus_text.find(':'); split != std::string_view::npos) {
    domain = parse_field(bus_text.substr(0, split), 8, UINT32_MAX);
    bus_text.remove_prefix(split + 1);
  }
  const auto bus = parse_field(bus_text, 2, 255);
  if (!domain || !bus || !device || !function) return {};
  return format_bus_id(*domain, *bus, *device, *function);
}

double pcie_bytes_per_s(double speed_gt_s, std::uint64_t width) {
  if (!(speed_gt_s > 0)) return 0;
  const double newer = speed_gt_s < 64 ? 128.0 / 130.0 : 242.0 / 256.0;
  const double coding = speed_gt_s <= 5 ? 8.0 / 10.0 : newer;
  return speed_gt_s * 1e9 / 8 * coding * static_cast<double>(width);
}

}  // namespace hiptool::system
