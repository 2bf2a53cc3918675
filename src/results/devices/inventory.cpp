// SPDX-License-Identifier: MIT
#include "results/devices/inventory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "kernel_store/images.hpp"
#include "machine/instruction_sets.hpp"
#include "machine/selection.hpp"
#include "measure/peak.hpp"
#include "report/document.hpp"
#include "results/devices/sensors.hpp"
#include "system/cache.hpp"
#include "system/kfd.hpp"

namespace hiptool::results {
namespace {

using machine::DeviceFacts;
using machine::Inventory;
using report::Unit;
using report::Value;

constexpr std::size_t devices_in_verdict = 3;

Value numa_node(const DeviceFacts& device) {
  return device.pci ? Value(device.pci->numa_node) : Value();
}

Value free_bytes(const DeviceFacts& device) {
  return device.memory ? Value(device.memory->free_bytes) : Value();
}

// All kernels have the same targets, so any one of them will do.
Value kernel_image(const DeviceFacts& device) {
  const auto image = kernel_store::choose_image("digest", device.platform, device.info.arch);
  return image ? Value(image->target) : Value();
}

// What the vendors call them.
const char* unit_name(Platform platform) {
  switch (platform) {
    case Platform::amd: return "CUs";
    case Platform::nvidia: return "SMs";
    case Platform::cpu: break;
  }
  return "cores";
}

struct DeviceField {
  report::Column column;
  Value value;
};

// The flat fields of a device in document order, for JSON, CSV and `devices ID`.
std::vector<DeviceField> main_fields(const DeviceFacts& device) {
  const DeviceInfo& info = device.info;
  const auto peak = measure::memory_peak(device.platform, info);
  return {
      {{"id", "ID", Unit::none}, device.id},
      {{"platform", "Platform", Unit::none}, to_string(device.platform)},
      {{"ordinal", "Ordinal", Unit::none}, device.ordinal},
      {{"name", "Name", Unit::none}, report::text_or_absent(info.name)},
      {{"arch", "Architecture", Unit::none}, report::text_or_absent(info.arch)},
      {{"uuid", "UUID", Unit::none}, info.uuid},
      {{"pci_bus_id", "PCI bus id", Unit::none}, info.pci_bus_id},
      {{"memory_total_bytes", "Memory", Unit::size}, info.memory_total_bytes},
      {{"memory_free_bytes", "Free memory", Unit::size}, free_bytes(device)},
      {{"compute_units", device.platform == Platform::cpu ? "Cores" : unit_name(device.platform),
        Unit::count},
       info.compute_units},
      {{"warp_size", "Warp size", Unit::count}, info.warp_size},
      {{"clock_hz", "Clock", Unit::frequency}, info.clock_hz},
      {{"memory_clock_hz", "Memory clock", Unit::frequency}, info.memory_clock_hz},
      {{"memory_bus_width_bits", "Memory bus width, bits", Unit::count},
       info.memory_bus_width_bits},
      {{"memory_peak_bytes_per_s", "Peak memory bandwidth", Unit::rate},
       peak ? Value(peak->bytes_per_s) : Value()},
      {{"memory_peak_source", "Peak memory bandwidth source", Unit::none},
       peak ? Value(peak->source) : Value()},
      {{"l2_cache_bytes", "L2 cache", Unit::size}, info.l2_cache_bytes},
      {{"max_threads_per_block", "Threads per block", Unit::count}, info.max_threads_per_block},
      {{"shared_memory_per_block_bytes", "Shared per block", Unit::size},
       info.shared_memory_per_block_bytes},
      {{"integrated", "Integrated", Unit::none}, info.integrated},
      {{"ecc_enabled", "ECC", Unit::none}, info.ecc_enabled},
      {{"numa_node", "NUMA node", Unit::none}, numa_node(device)},
      {{"kernel_image", "Kernel image", Unit::none}, kernel_image(device)},
  };
}

std::vector<DeviceField> link_fields(const DeviceFacts& device) {
  const system::PciLink link = link_of(device);
  return {
      {{"speed_gt_s", "PCIe speed, GT/s", Unit::none}, link.speed_gt_s},
      {{"width", "PCIe lanes", Unit::none}, link.width},
      {{"max_speed_gt_s", "Maximum PCIe speed, GT/s", Unit::none}, link.max_speed_gt_s},
      {{"max_width", "Maximum PCIe lanes", Unit::none}, link.max_width},
      {{"peak_bytes_per_s", "Peak PCIe rate", Unit::rate}, link_peak_bytes_per_s(device)},
  };
}

report::Object object_of(std::vector<DeviceField> fields) {
  report::Object object;
  for (DeviceField& field : fields) {
    object.emplace_back(std::move(field.column.key), std::move(field.value));
  }
  return object;
}

// Drops trademark signs and clock rates.
std::string short_name(std::string name) {
  for (const char* mark : {"(R)", "(TM)", "(tm)", " CPU", " Processor"}) {
    name = base::replaced(std::move(name), mark, "");
  }
  if (const auto clock = name.find(" @ "); clock != std::string::npos) name.resize(clock);
  return name;
}

// "132 SMs", by the name that the vendor gives them.
Value multiprocessors(const DeviceFacts& device) {
  if (!device.info.compute_units) return {};
  return fmt::format("{} {}", *device.info.compute_units, unit_name(device.platform));
}

bool is_same_row(const std::vector<Value>& left, const std::vector<Value>& right) {
  return std::equal(left.begin() + 2, left.end(), right.begin() + 2, right.end(),
                    [](const Value& one, const Value& other) {
                      return report::json_text(one) == report::json_text(other);
                    });
}

std::string summary(const DeviceFacts& device) {
  std::string text = device.id;
  if (!device.info.name.empty()) text += " " + device.info.name;
  if (device.info.memory_total_bytes) {
    text += ", " + format_size(*device.info.memory_total_bytes);
  }
  return text;
}

std::string join_summaries(const std::vector<const DeviceFacts*>& devices) {
  const DeviceFacts& first = *devices.front();
  const bool are_alike =
      devices.size() > 1 && std::all_of(devices.begin(), devices.end(), [&](const auto* one) {
        return one->platform == first.platform && !one->info.name.empty() &&
               one->info.name == first.info.name &&
               one->info.memory_total_bytes == first.info.memory_total_bytes;
      });
  if (are_alike) {
    std::vector<std::string> ids;
    for (const DeviceFacts* device : devices) ids.push_back(device->id);
    std::string text = base::ranges_of(ids) + " " + first.info.name;
    if (first.info.memory_total_bytes) {
      text += fmt::format(", {} each", format_size(*first.info.memory_total_bytes));
    }
    return text;
  }
  std::string text;
  const std::size_t shown = std::min(devices.size(), devices_in_verdict);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "; ") + summary(*devices[i]);
  if (shown < devices.size()) text += fmt::format("; and {} more", devices.size() - shown);
  return text;
}

bool has_hardware(const Inventory& inventory, Platform platform) {
  const std::uint32_t vendor =
      platform == Platform::amd ? system::vendor_amd : system::vendor_nvidia;
  return machine::is_gpu(platform) &&
         std::any_of(inventory.hardware.begin(), inventory.hardware.end(),
                     [&](const system::PciDevice& gpu) { return gpu.vendor == vendor; });
}

std::string usable_platform_text(const PlatformStatus& status) {
  std::string text = fmt::format("{}: {} {}", to_string(status.platform), status.device_count,
                                 status.device_count == 1 ? "device" : "devices");
  // The cpu platform has no runtime; its version only says which HIP it is written for.
  if (machine::is_gpu(status.platform) && !status.runtime_version.empty()) {
    text += ", runtime " + status.runtime_version;
    if (!status.release.empty()) text += " of " + status.release;
  }
  if (!status.driver_version.empty()) text += ", driver " + status.driver_version;
  if (!status.library.empty()) text += ", " + status.library;
  return text;
}

}  // namespace

report::Array platforms_value(const Inventory& inventory) {
  return report::array_of(inventory.platforms, [](const PlatformStatus& status) {
    return report::Object{
        {"platform", to_string(status.platform)},
        {"status", status.usable ? "ok" : "unavailable"},
        {"library", report::text_or_absent(status.library)},
        {"runtime_version", report::text_or_absent(status.runtime_version)},
        {"release", report::text_or_absent(status.release)},
        {"driver_version", report::text_or_absent(status.driver_version)},
        {"reason", report::text_or_absent(status.reason)},
        {"hint", report::text_or_absent(status.hint)},
        {"note", report::text_or_absent(status.note)},
    };
  });
}

report::Array devices_value(const Inventory& inventory) {
  return report::array_of(inventory.devices, [](const DeviceFacts& device) {
    report::Object object = object_of(main_fields(device));
    object.emplace_back("pcie", device.pci ? Value(object_of(link_fields(device))) : Value());
    object.emplace_back("compute_unit_name", unit_name(device.platform));
    object.emplace_back("sensors", sensors_value(device));
    return object;
  });
}

report::Table short_table(const Inventory& inventory, bool is_grouped) {
  report::Table table;
  table.columns = {{"id", "ID", Unit::none},
                   {.key = "name", .title = "Name", .may_be_cut = true},
                   {"arch", "Arch", Unit::none},
                   {"memory_total_bytes", "Memory", Unit::size},
                   {"compute_units", "Compute", Unit::none},
                   {"pcie_peak_bytes_per_s", "Link", Unit::rate}};
  std::vector<std::vector<std::string>> ids;  // of each row
  std::vector<std::string> names;
  for (const DeviceFacts& device : inventory.devices) {
    std::vector<Value> row{Value(),
                           Value(),
                           report::text_or_absent(device.info.arch),
                           device.info.memory_total_bytes,
                           multiprocessors(device),
                           link_peak_bytes_per_s(device)};
    const bool is_alike = is_grouped && !names.empty() && names.back() == device.info.name &&
                          report::platform_of(ids.back().front()) == to_string(device.platform) &&
                          is_same_row(table.rows.back(), row);
    if (is_alike) {
      ids.back().push_back(device.id);
      continue;
    }
    ids.push_back({device.id});
    names.push_back(device.info.name);
    table.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string name = short_name(names[i]);
    const bool is_one = ids[i].size() == 1 || name.empty();
    table.rows[i][0] = base::ranges_of(ids[i]);
    table.rows[i][1] =
        report::text_or_absent(is_one ? name : fmt::format("{} x {}", ids[i].size(), name));
  }
  return table;
}

report::Table cache_table(const Inventory& inventory, const std::filesystem::path& root) {
  report::Table table{"Caches and instruction sets", {{"id", "ID"}, {"text", "Properties"}}, {}};
  std::vector<std::vector<std::string>> ids;  // of each text: equal GPUs share a row
  std::vector<std::string> texts;
  for (const DeviceFacts& device : inventory.devices) {
    std::vector<std::string> parts;
    const auto add = [&parts](const char* what, const Value& value, Unit unit) {
      if (!value.is_absent())
        parts.push_back(std::string(what) + report::format_value(value, unit));
    };
    if (machine::is_gpu(device.platform)) {
      std::map<int, std::uint64_t> caches;
      if (device.platform == Platform::amd) {
        caches = system::kfd_data_caches(root, device.info.pci_bus_id.value_or(""));
      }
      // The runtime says what a kernel can use of L2.
      caches.erase(2);
      if (device.info.l2_cache_bytes) caches[2] = *device.info.l2_cache_bytes;
      for (const auto& [level, bytes] : caches) {
        add(fmt::format("L{} cache ", level).c_str(), bytes, Unit::size);
      }
      add("shared memory of a block ", device.info.shared_memory_per_block_bytes, Unit::size);
      add("threads of a block ", device.info.max_threads_per_block, Unit::count);
      add("warp ", device.info.warp_size, Unit::count);
      add("kernels for ", kernel_image(device), Unit::none);
      for (const std::string& feature :
           machine::instruction_features(device.platform, device.info.arch)) {
        parts.push_back(feature);
      }
    } else {
      for (const system::CpuCache& cache : system::cpu_caches(root)) {
        add((cache.name + " ").c_str(), cache.size_bytes, Unit::size);
      }
      const std::vector<std::string> features = system::cpu_features(root);
      if (!features.empty()) parts.push_back(fmt::format("{}", fmt::join(features, " ")));
    }
    const std::string text = fmt::format("{}", fmt::join(parts, ", "));
    if (text.empty()) continue;
    if (!texts.empty() && texts.back() == text) {
      ids.back().push_back(device.id);
      continue;
    }
    texts.push_back(text);
    ids.push_back({device.id});
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    table.rows.push_back({base::ranges_of(ids[i]), texts[i]});
  }
  return table;
}

report::Table full_table(const Inventory& inventory) {
  report::Table table;
  for (const DeviceFacts& device : inventory.devices) {
    std::vector<DeviceField> fields = main_fields(device);
    for (DeviceField& field : link_fields(device)) {
      field.column.key = "pcie_" + field.column.key;
      fields.push_back(std::move(field));
    }
    for (SensorField& field : sensor_fields(device)) {
      fields.push_back({std::move(field.column), std::move(field.value)});
    }
    if (table.columns.empty()) {
      for (const DeviceField& field : fields) table.columns.push_back(field.column);
    }
    auto& row = table.rows.emplace_back();
    for (DeviceField& field : fields) row.push_back(std::move(field.value));
  }
  return table;
}

report::Line inventory_verdict(const Inventory& inventory) {
  std::vector<const DeviceFacts*> gpus;
  std::vector<const DeviceFacts*> cpus;
  for (const DeviceFacts& device : inventory.devices) {
    (machine::is_gpu(device.platform) ? gpus : cpus).push_back(&device);
  }
  if (!gpus.empty()) {
    return {report::Tone::good,
            fmt::format("{} {} usable: {}", gpus.size(), gpus.size() == 1 ? "GPU" : "GPUs",
                        join_summaries(gpus))};
  }
  const bool is_seen = !inventory.hardware.empty();
  const std::string rest =
      cpus.empty() ? "no device found" : "the CPU is usable: " + join_summaries(cpus);
  return {is_seen ? report::Tone::bad : report::Tone::warning,
          fmt::format("no usable GPU{}; {}", is_seen ? " although one is installed" : "", rest)};
}

report::Line one_device_verdict(const DeviceFacts& device) {
  return {report::Tone::good, summary(device) + ": usable"};
}

std::vector<report::Line> platform_lines(const Inventory& inventory, bool verbose) {
  std::vector<report::Line> lines;
  for (const PlatformStatus& status : inventory.platforms) {
    if (status.usable) {
      lines.push_back({report::Tone::plain, usable_platform_text(status)});
    } else {
      lines.push_back(
          {has_hardware(inventory, status.platform) ? report::Tone::bad : report::Tone::plain,
           fmt::format("{}: not usable: {}", to_string(status.platform), status.reason)});
      if (!status.hint.empty()) lines.push_back({report::Tone::plain, "  hint: " + status.hint});
    }
    if (!status.note.empty()) lines.push_back({report::Tone::warning, "  note: " + status.note});
    if (!verbose) continue;
    for (const std::string& library : status.tried) {
      lines.push_back({report::Tone::plain, "  tried: " + library});
    }
  }
  return lines;
}

}  // namespace hiptool::results
