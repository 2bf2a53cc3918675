// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "report/reader.hpp"

namespace hiptool::report {
namespace {

// Texts of an earlier list are kept.
void add_texts(DeviceTexts& texts, const Value& device) {
  const std::array<std::pair<const char*, std::string*>, 6> fields{
      {{"name", &texts.name},
       {"arch", &texts.arch},
       {"pci_bus_id", &texts.pci_bus_id},
       {"uuid", &texts.uuid},
       {"driver", &texts.driver},
       {"runtime", &texts.runtime}}};
  for (const auto& [name, text] : fields) {
    if (text->empty()) *text = text_of(member(device, name));
  }
}

}  // namespace

std::map<std::string, DeviceTexts> device_texts(const Object& document) {
  const Value& context = member(document, "context");
  const Value& in_context = member(context, "devices");
  std::map<std::string, DeviceTexts> devices;
  for (const Value* list :
       {&member(document, "measured_on"), &member(document, "devices"), &in_context, &context}) {
    for (const Value& device : elements(*list)) {
      for (const char* key : {"id", "device"}) {
        const std::string id = text_of(member(device, key));
        if (!platform_of(id).empty()) add_texts(devices[id], device);
      }
    }
    const auto* members = std::get_if<Object>(&list->data());
    if (members == nullptr) continue;
    for (const auto& [id, device] : *members) {
      if (!platform_of(id).empty()) add_texts(devices[id], device);
    }
  }
  for (const Value& platform : elements(member(document, "platforms"))) {
    for (auto& [id, texts] : devices) {
      if (platform_of(id) != text_of(member(platform, "platform"))) continue;
      if (texts.driver.empty()) texts.driver = text_of(member(platform, "driver_version"));
      if (texts.runtime.empty()) texts.runtime = text_of(member(platform, "runtime_version"));
    }
  }
  for (auto& [id, texts] : devices) {
    if (texts.driver.empty()) texts.driver = text_of(member(context, "driver"));
    if (texts.runtime.empty()) texts.runtime = text_of(member(context, "runtime"));
  }
  return devices;
}

const DeviceTexts& texts_of(const std::map<std::string, DeviceTexts>& devices,
                            const std::string& id) {
  static const DeviceTexts none;
  const auto found = devices.find(id);
  return found == devices.end() ? none : found->second;
}

bool shows_runtime(const std::string& device_id) { return platform_of(device_id) != "cpu"; }

Table devices_table(const std::map<std::string, DeviceTexts>& devices) {
  using Field = std::string DeviceTexts::*;
  const std::array<std::pair<Column, Field>, 6> fields{
      {{{"name", "Name", Unit::none}, &DeviceTexts::name},
       {{"arch", "Architecture", Unit::none}, &DeviceTexts::arch},
       {{"driver", "Driver", Unit::none}, &DeviceTexts::driver},
       {{"runtime", "Runtime", Unit::none}, &DeviceTexts::runtime},
       {{"pci_bus_id", "PCI bus id", Unit::none}, &DeviceTexts::pci_bus_id},
       {{"uuid", "UUID", Unit::none}, &DeviceTexts::uuid}}};
  std::vector<std::pair<std::string, const DeviceTexts*>> sorted;
  for (const auto& [id, texts] : devices) sorted.emplace_back(id, &texts);
  std::sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
    return is_device_before(left.first, right.first);
  });
  Table table;
  table.columns.push_back({"id", "Device", Unit::none});
  for (const auto& one : sorted) table.rows.push_back({one.first});
  for (const auto& [column, field] : fields) {
    const auto text = [field = field](const auto& one) {
      const bool is_shown = field != &DeviceTexts::runtime || shows_runtime(one.first);
      return is_shown ? one.second->*field : std::string();
    };
    const bool is_known = std::any_of(sorted.begin(), sorted.end(),
                                      [&text](const auto& one) { return !text(one).empty(); });
    if (!is_known) continue;
    table.columns.push_back(column);
    for (std::size_t row = 0; row < sorted.size(); ++row) {
      table.rows[row].push_back(text_or_absent(text(sorted[row])));
    }
  }
  return table;
}

}  // namespace hiptool::report
