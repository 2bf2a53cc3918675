// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "report/document.hpp"
#include "report/fields.hpp"
#include "report/reader.hpp"

namespace hiptool::report {
namespace {

Field<NamedDevice>::Get text(std::string DeviceTexts::*member) {
  return [member](const NamedDevice& one) { return text_or_absent(one.second.*member); };
}

Fields<NamedDevice> device_fields() {
  const auto runtime = [](const NamedDevice& one) {
    return shows_runtime(one.first) ? text_or_absent(one.second.runtime) : Value();
  };
  return {{{"id", "Device"}, &NamedDevice::first},
          {{"name", "Name"}, text(&DeviceTexts::name)},
          {{"arch", "Architecture"}, text(&DeviceTexts::arch)},
          {{"driver", "Driver"}, text(&DeviceTexts::driver)},
          {{"runtime", "Runtime"}, text(&DeviceTexts::runtime), runtime},
          {{"pci_bus_id", "PCI bus id"}, text(&DeviceTexts::pci_bus_id)},
          {{"uuid", "UUID"}, text(&DeviceTexts::uuid)}};
}

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

Array devices_value(const std::vector<NamedDevice>& devices) {
  return device_fields()
      .only({"id", "name", "arch", "uuid", "pci_bus_id", "driver", "runtime"})
      .objects(devices);
}

Table devices_table(const std::map<std::string, DeviceTexts>& devices) {
  std::vector<NamedDevice> sorted(devices.begin(), devices.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
    return is_device_before(left.first, right.first);
  });
  Table table = device_fields().table("", sorted);
  remove_empty_columns(table);
  return table;
}

}  // namespace hiptool::report
