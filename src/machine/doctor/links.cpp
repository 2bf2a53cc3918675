// SPDX-License-Identifier: MIT
/// The connection of host and GPU: the PCI window into its memory and the PCIe link.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/units.hpp"
#include "machine/doctor/list.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

constexpr const char* reseat =
    "reseat the card, try another slot, remove risers, and set the slot's speed in the BIOS; check "
    "with `sudo lspci -vvs ";

std::optional<std::uint64_t> read_number(const fs::path& file) {
  return base::parse_number<std::uint64_t>(base::read_small_file(file));
}

struct Window {
  std::uint64_t visible_bytes;
  std::uint64_t total_bytes;
  std::string source;
};

std::optional<Window> read_window(const Evidence& evidence, const DoctorGpu& gpu) {
  if (gpu.pci) {
    const fs::path folder = evidence.root / "sys/bus/pci/devices" / gpu.pci->bus_id;
    const auto visible = read_number(folder / "mem_info_vis_vram_total");
    const auto total = read_number(folder / "mem_info_vram_total");
    if (visible && total) return Window{*visible, *total, "mem_info_vis_vram_total"};
  }
  const auto& visible = gpu.sensors.host_visible_bytes;
  const auto& total = gpu.info.memory_total_bytes;
  if (!visible || !total) return {};
  return Window{*visible, *total, gpu.sensor_source};
}

void examine_bar(const Evidence& evidence, const DoctorGpu& gpu, CheckList& list) {
  const auto window = read_window(evidence, gpu);
  if (!window) {
    list.add_unknown("large-bar", gpu.name(), "the size of the PCI window is not reported",
                     "mem_info_vis_vram_total, the sensors",
                     "check with `sudo lspci -vv | grep -A 20 VGA | grep Region`");
    return;
  }
  const bool is_large = window->visible_bytes >= window->total_bytes;
  list.add({"large-bar", is_large ? Severity::pass : Severity::warn, gpu.id,
            gpu.name() + ": the host sees " + format_size(window->visible_bytes) + " of " +
                format_size(window->total_bytes),
            window->source, "all of it",
            is_large ? ""
                     : "enable \"above 4G decoding\" and \"resizable BAR\" in the BIOS; check with "
                       "`sudo lspci -vvs " +
                           (gpu.pci ? gpu.pci->bus_id : "") + "`"});
}

std::string link_text(const std::optional<double>& speed,
                      const std::optional<std::uint64_t>& width) {
  return fmt::format("{:.4g} GT/s x{}", speed.value_or(0), width.value_or(0));
}

std::string rates(double now, double best) {
  return fmt::format("{:.1f} of {:.1f} GB/s", now / 1e9, best / 1e9);
}

// The path is slower than the maximum of its slowest link.
void judge_slow_link(const DoctorGpu& gpu, const system::PciPath& path, double now, double best,
                     CheckList& list) {
  const system::PciPath::Hop& hop = *path.slowest_now();
  const std::string read =
      fmt::format("{}: {} at {}: {}", gpu.name(), link_text(hop.link.speed_gt_s, hop.link.width),
                  hop.bus_id, rates(now, best));
  const std::string source = "current_link_speed and width of every hop";
  const std::string fix = reseat + hop.bus_id + "`";
  if (!gpu.path_under_load && hop.link.width == path.slowest_at_best()->link.max_width) {
    // An idle GPU lowers the speed of its link, never the width.
    list.add_unknown("link-down", gpu.name(),
                     "idle, and below the maximum: " + rates(now, best) + " at " + hop.bus_id,
                     source, "check again during copies: `hiptool bench-copy`");
    return;
  }
  list.add({"link-down", now < 0.5 * best ? Severity::fail : Severity::warn, gpu.id, read, source,
            rates(best, best) + (gpu.path_under_load ? " under load" : ""), fix});
}

void examine_link(const Evidence& evidence, const DoctorGpu& gpu, CheckList& list) {
  if (!gpu.pci) {
    list.add_unknown("link-down", gpu.name(), "its address on the PCI bus is unknown",
                     "/sys/bus/pci/devices", "check with `sudo lspci -vv | grep LnkSta`");
    return;
  }
  const system::PciPath path = gpu.path_under_load
                                   ? *gpu.path_under_load
                                   : system::read_pci_path(evidence.root, gpu.pci->bus_id);
  const auto now = path.bytes_per_s_now();
  const auto best = path.bytes_per_s_at_best();
  const std::string source = "current_link_speed and width of every hop";
  if (!now || !best) {
    list.add_unknown("link-down", gpu.name(),
                     "no hop reports its link speed (normal inside a processor "
                     "or in a virtual machine)",
                     source, "check with `sudo lspci -vvs " + gpu.pci->bus_id + "`");
    return;
  }
  if (*now < *best) {
    judge_slow_link(gpu, path, *now, *best, list);
    return;
  }
  const system::PciPath::Hop& limit = *path.slowest_at_best();
  double board = *best;
  for (const auto& hop : path.hops) {
    if (!hop.link.max_speed_gt_s || !hop.link.max_width) continue;
    board =
        std::max(board, system::pcie_bytes_per_s(*hop.link.max_speed_gt_s, *hop.link.max_width));
  }
  const std::string read =
      fmt::format("{}: {}, {}", gpu.name(),
                  link_text(limit.link.max_speed_gt_s, limit.link.max_width), rates(*now, *best));
  const std::string when = gpu.path_under_load ? " under load" : " idle";
  if (board > *best) {
    list.add({"link-down", Severity::info, gpu.id,
              read + when + "; " + limit.bus_id + " limits, other links of the path carry " +
                  fmt::format("{:.1f} GB/s", board / 1e9),
              source, "the maximum of the slowest link",
              "another slot may be faster: `lspci -tv`"});
    return;
  }
  list.add({"link-down", Severity::pass, gpu.id, read + when, source, rates(*best, *best), ""});
}

}  // namespace

void examine_links(const Evidence& evidence, CheckList& list) {
  if (is_without(evidence, std::nullopt, list, {"large-bar", "link-down"})) return;
  for (const DoctorGpu& gpu : evidence.gpus) {
    examine_bar(evidence, gpu, list);
    examine_link(evidence, gpu, list);
  }
}

}  // namespace hiptool::machine
