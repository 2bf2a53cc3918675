// SPDX-License-Identifier: MIT
#include "report/measurement.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "hiptool/error.hpp"
#include "report/tree.hpp"

namespace hiptool::report {
namespace {

std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ".";
    text += part;
  }
  return text;
}

void read_samples(const Value& samples, Measurement& result) {
  for (const Value& sample : elements(samples)) {
    const auto time_s = number_of(sample);
    if (time_s && *time_s > 0) {
      result.samples_s.push_back(*time_s);
    } else {
      result.has_bad_sample = true;
    }
  }
}

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

// What cells and results have in common.
Measurement common_fields(const Value& entry) {
  Measurement result;
  result.id = text_of(member(entry, "id"));
  result.status = text_of(member(entry, "status"));
  result.reason = text_of(member(entry, "reason"));
  read_samples(member(entry, "samples_s"), result);
  result.median_s = number_of(member(entry, "median_s"));
  if (!result.median_s && !result.samples_s.empty()) result.median_s = median_of(result.samples_s);
  return result;
}

// "host" or ids of devices with commas.
void add_devices(const std::string& text, std::vector<std::string>& devices) {
  std::set<std::string> known(devices.begin(), devices.end());
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    std::string id = text.substr(start, end - start);
    if (!platform_of(id).empty() && known.insert(id).second) devices.push_back(std::move(id));
    start = end + 1;
  }
}

// An id is a label, "@" and the devices. Empty where it is something else.
std::string label_in(const std::string& id) {
  const auto end = id.find('@');
  return end == std::string::npos ? std::string() : id.substr(0, end);
}

// Where the id does not say, the fields have to do.
void set_labels(const Value& cell, Measurement& result) {
  const std::string size = size_word(result.size_bytes);
  result.series = joined({text_of(member(cell, "kind")), text_of(member(cell, "memory")),
                          text_of(member(cell, "engine"))});
  result.label = joined({result.series, size});
  const std::string label = label_in(result.id);
  if (label.empty()) return;
  result.label = result.series = label;
  const auto place = result.series.find("." + size);
  if (place != std::string::npos) result.series.erase(place, size.size() + 1);
}

Measurement copy_cell(const Value& cell) {
  Measurement result = common_fields(cell);
  result.source = text_of(member(cell, "source"));
  result.destination = text_of(member(cell, "destination"));
  result.size_bytes = count_of(member(cell, "size_bytes")).value_or(0);
  set_labels(cell, result);
  add_devices(result.source, result.devices);
  add_devices(result.destination, result.devices);
  result.bytes_per_s = number_of(member(cell, "median_bytes_per_s"));
  result.low_bytes_per_s = number_of(member(cell, "p05_bytes_per_s"));
  result.high_bytes_per_s = number_of(member(cell, "p95_bytes_per_s"));
  result.share_of_limit = number_of(member(cell, "share_of_limit"));
  result.is_pair = !platform_of(result.source).empty() &&
                   !platform_of(result.destination).empty() && result.source != result.destination;
  if (result.id.empty()) result.id = joined({result.label, result.source, result.destination});
  return result;
}

Measurement kernel_result(const Value& entry) {
  Measurement result = common_fields(entry);
  const auto count = count_of(member(entry, "elements"));
  result.destination = text_of(member(entry, "device"));
  add_devices(result.destination, result.devices);
  result.series = joined({text_of(member(entry, "kernel")), text_of(member(entry, "dtype"))});
  result.label = label_in(result.id);
  if (result.label.empty()) {
    result.label = joined({result.series, count ? std::to_string(*count) : std::string()});
  }
  result.size_bytes = count_of(member(entry, "size_bytes")).value_or(0);
  result.bytes_per_s = number_of(member(entry, "bytes_per_s"));
  result.flops_per_s = number_of(member(entry, "flops_per_s"));
  result.share_of_limit = number_of(member(entry, "share_of_peak"));
  if (result.id.empty()) result.id = joined({result.label, result.destination});
  return result;
}

std::vector<Measurement> load_measurements(const Object& document) {
  std::vector<Measurement> results;
  const Value& model = member(document, "model");
  if (model.is_absent()) return results;
  const std::string status = text_of(member(document, "status"));
  const std::string path = text_of(member(model, "path"));
  const std::string name = path.substr(path.find_last_of('/') + 1);
  Measurement load;
  load.id = load.label = load.series = "load." + name;
  load.status = status == "verified" || status == "loaded" ? "ok" : status;
  load.size_bytes = count_of(member(model, "bytes")).value_or(0);
  load.median_s = number_of(member(document, "load_time_s"));
  load.bytes_per_s = number_of(member(document, "bytes_per_s"));
  load.share_of_limit = number_of(member(document, "share_of_limit"));
  const Array& devices = elements(member(document, "devices"));
  std::string ids;
  for (const Value& device : devices) ids += text_of(member(device, "id")) + ",";
  add_devices(ids, load.devices);
  if (devices.size() == 1) load.destination = text_of(member(devices.front(), "id"));
  if (load.bytes_per_s) results.push_back(load);
  for (const Value& device : devices) {
    Measurement copy = load;
    copy.destination = text_of(member(device, "id"));
    copy.devices = {copy.destination};
    copy.label = copy.series = "load-copy." + name;
    copy.id = copy.label + "." + copy.destination;
    copy.size_bytes = count_of(member(device, "bytes")).value_or(0);
    copy.median_s = number_of(member(device, "copy_time_s"));
    copy.bytes_per_s = number_of(member(device, "copy_bytes_per_s"));
    copy.share_of_limit.reset();
    if (copy.bytes_per_s) results.push_back(copy);
  }
  return results;
}

// What an earlier list has said stays.
void add_texts(DeviceTexts& texts, const Value& device) {
  const std::array<std::pair<const char*, std::string*>, 3> fields{
      {{"name", &texts.name}, {"pci_bus_id", &texts.pci_bus_id}, {"uuid", &texts.uuid}}};
  for (const auto& [name, text] : fields) {
    if (text->empty()) *text = text_of(member(device, name));
  }
}

}  // namespace

DocumentKind kind_of(const Object& document) {
  constexpr std::string_view start = "hiptool.";
  const std::string schema = text_of(member(document, "schema"));
  const auto slash = schema.find('/');
  if (schema.compare(0, start.size(), start) != 0 || slash == std::string::npos) return {};
  return {schema.substr(start.size(), slash - start.size()), schema.substr(slash + 1)};
}

std::vector<Measurement> measurements(const Object& document) {
  const std::string kind = kind_of(document).name;
  std::vector<Measurement> results;
  if (kind == "load") {
    results = load_measurements(document);
  } else if (kind == "bench-copy") {
    for (const Value& cell : elements(member(document, "cells"))) {
      results.push_back(copy_cell(cell));
    }
  } else if (kind == "run-kernel") {
    for (const Value& entry : elements(member(document, "results"))) {
      results.push_back(kernel_result(entry));
    }
  }
  std::set<std::string_view> ids;
  for (const Measurement& result : results) {
    if (ids.insert(result.id).second) continue;
    throw Error(ErrorCode::corrupt_data, "read measurements",
                "two results have the id '" + result.id + "'");
  }
  return results;
}

std::map<std::string, DeviceTexts> device_texts(const Object& document) {
  const Value& context = member(document, "context");
  const Value& in_context = member(context, "devices");
  std::map<std::string, DeviceTexts> devices;
  for (const Value* list : {&member(document, "devices"), &in_context, &context}) {
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
  return devices;
}

const DeviceTexts& texts_of(const std::map<std::string, DeviceTexts>& devices,
                            const std::string& id) {
  static const DeviceTexts none;
  const auto found = devices.find(id);
  return found == devices.end() ? none : found->second;
}

std::string size_word(std::uint64_t size_bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && size_bytes >= 1024 && size_bytes % 1024 == 0) {
    size_bytes /= 1024;
    ++unit;
  }
  return std::to_string(size_bytes) + std::string(units[unit]);
}

std::string platform_of(const std::string& id) {
  for (const char* platform : {"amd", "nvidia", "cpu"}) {
    const std::string start = std::string(platform) + ":";
    if (id.size() == start.size() || id.compare(0, start.size(), start) != 0) continue;
    if (id.find_first_not_of("0123456789", start.size()) == std::string::npos) return platform;
  }
  return {};
}

}  // namespace hiptool::report
