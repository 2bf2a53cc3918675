// SPDX-License-Identifier: MIT
#include "cli/commands/load/placement_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "hiptool/units.hpp"

namespace hiptool::cli {
namespace {

using report::Array;
using report::Object;
using report::Unit;
using report::Value;

constexpr std::size_t most_named_devices = 4;

/// What one of the chosen devices holds, and how fast it came there: null where nothing was timed.
struct DeviceShare {
  std::string id;
  std::uint64_t tensors = 0;
  std::uint64_t size_bytes = 0;
  Value copy_time_s = {};
  Value copy_bytes_per_s = {};
};

// As planned for the devices, or without a driver as the fit found for those asked for.
std::vector<DeviceShare> device_shares(const LoadOutcome& outcome) {
  std::vector<DeviceShare> shares;
  if (!outcome.plan) {
    const std::size_t count =
        outcome.fit ? std::min(outcome.chosen_devices, outcome.fit->parts.size()) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const FitPart& part = outcome.fit->parts[i];
      shares.push_back({part.device.id, part.tensors, part.tensor_bytes});
    }
    return shares;
  }
  for (const DevicePlan& part : outcome.plan->devices) {
    DeviceShare share{part.device.id(), part.layout.placements.size(), part.layout.tensor_bytes};
    if (shares.size() < outcome.device_statistics.size()) {
      const LoadStatistics& load = outcome.device_statistics[shares.size()];
      if (load.copy_time_s > 0) {
        share.copy_time_s = load.copy_time_s;
        share.copy_bytes_per_s = static_cast<double>(load.copied_bytes) / load.copy_time_s;
      }
    }
    shares.push_back(std::move(share));
  }
  return shares;
}

Value digest_of(const LoadOutcome& outcome, std::uint32_t tensor) {
  return outcome.verification ? Value(base::to_hex(outcome.verification->tensor_digests[tensor])) : Value();
}

Object tensor_value(const LoadOutcome& outcome, std::uint32_t index, Value device,
                    Value device_offset) {
  const ModelFile& model = *outcome.model;
  const TensorInfo& tensor = model.tensors()[index];
  return Object{
      {"name", tensor.name},
      {"dtype", tensor.type.name()},
      {"shape", Array(tensor.shape.begin(), tensor.shape.end())},
      {"bytes", tensor.size_bytes},
      {"file", model.files()[tensor.file].path.string()},
      {"file_offset", tensor.file_offset},
      {"device", std::move(device)},
      {"device_offset", std::move(device_offset)},
      {"digest", digest_of(outcome, index)},
  };
}

// The one device that holds all of it, where no driver was asked.
std::optional<std::string> planned_device(const LoadOutcome& outcome) {
  const bool is_planned = outcome.fit && outcome.chosen_devices == 1 && outcome.fit->is_held;
  return is_planned ? std::optional(outcome.fit->parts.front().device.id) : std::nullopt;
}

std::vector<Value> tensor_row(const LoadOutcome& outcome, std::uint32_t index) {
  const TensorInfo& tensor = outcome.model->tensors()[index];
  return {tensor.name, tensor.type.name(), fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
          tensor.size_bytes};
}

}  // namespace

std::string place_text(const LoadOutcome& outcome) {
  if (!outcome.plan) return {};
  const auto& devices = outcome.plan->devices;
  if (devices.size() > most_named_devices) return fmt::format("{} devices", devices.size());
  std::vector<std::string> ids;
  for (const DevicePlan& part : devices) ids.push_back(part.device.id());
  return fmt::format("{}", fmt::join(ids, ", "));
}

Value devices_value(const LoadOutcome& outcome) {
  Array devices;
  for (DeviceShare& share : device_shares(outcome)) {
    devices.push_back(Object{{"id", std::move(share.id)},
                             {"tensors", share.tensors},
                             {"bytes", share.size_bytes},
                             {"copy_time_s", std::move(share.copy_time_s)},
                             {"copy_bytes_per_s", std::move(share.copy_bytes_per_s)}});
  }
  return devices;
}

Value tensors_value(const LoadOutcome& outcome) {
  Array tensors;
  if (!outcome.plan) {
    const auto device = planned_device(outcome);
    for (const Placement& placement : outcome.layout->placements) {
      tensors.push_back(tensor_value(outcome, placement.tensor, device,
                                     device ? Value(placement.device_offset) : Value()));
    }
    return tensors;
  }
  for (const DevicePlan& part : outcome.plan->devices) {
    for (const Placement& placement : part.layout.placements) {
      tensors.push_back(
          tensor_value(outcome, placement.tensor, part.device.id(), placement.device_offset));
    }
  }
  return tensors;
}

std::vector<report::Line> device_lines(const LoadOutcome& outcome) {
  std::vector<report::Line> lines;
  if (!outcome.plan) return lines;
  const auto shares = device_shares(outcome);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    std::string text = "device  " + shares[i].id + " " + outcome.device_names[i];
    if (shares.size() > 1) {
      text += ": " + base::count_of(shares[i].tensors, "tensor") + ", " +
              format_size(shares[i].size_bytes);
    }
    lines.push_back({report::Tone::plain, std::move(text)});
  }
  return lines;
}

report::Table devices_table(const LoadOutcome& outcome) {
  report::Table table{"",
                      {{"device", "Device", Unit::none},
                       {"tensors", "Tensors", Unit::count},
                       {"bytes", "Size", Unit::size},
                       {"copy_time_s", "Copies", Unit::duration},
                       {"copy_bytes_per_s", "Rate", Unit::rate}},
                      {}};
  for (DeviceShare& share : device_shares(outcome)) {
    table.rows.push_back({std::move(share.id), share.tensors, share.size_bytes,
                          std::move(share.copy_time_s), std::move(share.copy_bytes_per_s)});
  }
  return table;
}

report::Table tensors_table(const LoadOutcome& outcome) {
  report::Table table{"Tensors",
                      {{"name", "Name", Unit::none},
                       {"dtype", "Type", Unit::none},
                       {"shape", "Shape", Unit::none},
                       {"bytes", "Size", Unit::size}},
                      {}};
  const bool names_devices = outcome.plan && outcome.plan->devices.size() > 1;
  if (names_devices) table.columns.push_back({"device", "Device", Unit::none});
  if (outcome.verification) table.columns.push_back({"digest", "Digest", Unit::none});
  const auto add = [&](const ArenaLayout& layout, const std::string& device) {
    for (const Placement& placement : layout.placements) {
      std::vector<Value> row = tensor_row(outcome, placement.tensor);
      if (names_devices) row.emplace_back(device);
      if (outcome.verification) row.push_back(digest_of(outcome, placement.tensor));
      table.rows.push_back(std::move(row));
    }
  };
  if (!outcome.plan) {
    add(*outcome.layout, {});
    return table;
  }
  for (const DevicePlan& part : outcome.plan->devices) add(part.layout, part.device.id());
  return table;
}

report::Table full_tensors_table(const LoadOutcome& outcome) {
  report::Table table;
  for (const char* key : {"name", "dtype", "shape", "bytes", "file", "file_offset", "device",
                          "device_offset", "digest"}) {
    table.columns.push_back({key, key, Unit::none});
  }
  const Value tensors = tensors_value(outcome);
  for (const Value& tensor : std::get<Array>(tensors.data())) {
    auto& row = table.rows.emplace_back();
    for (const auto& [key, value] : std::get<Object>(tensor.data())) row.push_back(value);
  }
  return table;
}

}  // namespace hiptool::cli
