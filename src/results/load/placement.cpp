// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/fields.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Unit;
using report::Value;

constexpr std::size_t most_named_devices = 4;

Value digest_of(const LoadOutcome& outcome, std::uint32_t tensor) {
  if (!outcome.verification) return {};
  return base::to_hex(outcome.verification->tensor_digests[tensor]);
}

/// A tensor on one of the devices that hold it.
struct PlacedTensor {
  std::uint32_t index;
  const TensorInfo* info;
  Value device;
  Value device_offset;
};

// Without a plan the device is known only if one device was chosen that holds the model.
std::vector<PlacedTensor> placed_tensors(const LoadOutcome& outcome) {
  std::vector<PlacedTensor> placed;
  const auto add_all = [&](const ArenaLayout& layout, const Value& device) {
    for (const Placement& one : layout.placements) {
      placed.push_back({one.tensor, &outcome.model->tensors()[one.tensor], device,
                        device.is_absent() ? Value() : Value(one.device_offset)});
    }
  };
  if (outcome.plan) {
    for (const DevicePlan& part : outcome.plan->devices) add_all(part.layout, part.device.id());
    return placed;
  }
  const bool is_on_one = outcome.fit && outcome.chosen_devices == 1 && outcome.fit->is_held;
  add_all(*outcome.layout, is_on_one ? Value(outcome.fit->parts.front().device.id) : Value());
  return placed;
}

report::Fields<PlacedTensor> tensor_fields(const LoadOutcome& outcome) {
  using One = const PlacedTensor&;
  const auto file = [files = outcome.model->files()](One one) {
    return files[one.info->file].path.string();
  };
  return {{{"name", "Name"}, [](One one) { return one.info->name; }},
          {{"dtype", "Type"}, [](One one) { return one.info->type.name(); }},
          {{"shape", "Shape"},
           [](One one) { return Array(one.info->shape.begin(), one.info->shape.end()); },
           [](One one) { return load::shape_text(one.info->shape); }},
          {{"bytes", "Size", Unit::size}, [](One one) { return one.info->size_bytes; }},
          {{"file"}, file},
          {{"file_offset"}, [](One one) { return one.info->file_offset; }},
          {{"device", "Device"}, &PlacedTensor::device},
          {{"device_offset"}, &PlacedTensor::device_offset},
          {{"digest", "Digest"}, [&outcome](One one) { return digest_of(outcome, one.index); }}};
}

}  // namespace

std::string place_text(const LoadOutcome& outcome) {
  if (!outcome.plan) return {};
  std::vector<std::string> ids;
  const bool is_empty = outcome.model && outcome.model->tensors().empty();
  for (const DevicePlan& part : outcome.plan->devices) {
    if (is_empty || !part.layout.placements.empty()) ids.push_back(part.device.id());
  }
  if (ids.size() > most_named_devices) return fmt::format("{} devices", ids.size());
  return base::ranges_of(std::move(ids));
}

std::vector<std::string> not_examined(const LoadOutcome& outcome) {
  std::vector<std::string> ids;
  const bool was_loaded = outcome.statistics.has_value();
  if (!outcome.plan || !was_loaded || outcome.plan->devices.size() < 2) return ids;
  for (const DevicePlan& part : outcome.plan->devices) {
    const std::string id = part.device.id();
    const bool is_proved = !outcome.prove || base::contains(outcome.prove->devices, id);
    if (part.layout.placements.empty() || !is_proved) ids.push_back(id);
  }
  return ids;
}

std::vector<report::Line> device_lines(const LoadOutcome& outcome) {
  std::vector<report::Line> lines;
  if (!outcome.plan) return lines;
  const auto& devices = outcome.plan->devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::string text = "device  " + devices[i].device.id() + " " + outcome.device_names[i];
    if (devices.size() > 1) {
      const ArenaLayout& layout = devices[i].layout;
      text += ": " + base::count_of(layout.placements.size(), "tensor") + ", " +
              format_size(layout.tensor_bytes);
    }
    lines.push_back({report::Tone::plain, std::move(text)});
  }
  return lines;
}

std::vector<report::LoadedModel::Copied> copied_to(const LoadOutcome& outcome) {
  std::vector<report::LoadedModel::Copied> list;
  if (!outcome.plan) return list;
  for (const auto& [device, layout] : outcome.plan->devices) {
    const std::size_t at = list.size();
    auto& copied = list.emplace_back();
    copied.device = device.id();
    copied.size_bytes = layout.tensor_bytes;
    if (at >= outcome.device_statistics.size()) continue;
    const LoadStatistics& load = outcome.device_statistics[at];
    if (load.copy_time_s <= 0) continue;
    copied.time_s = load.copy_time_s;
    copied.bytes_per_s = static_cast<double>(load.copied_bytes) / load.copy_time_s;
  }
  return list;
}

report::Table devices_table(const LoadOutcome& outcome) {
  report::Table table{"",
                      {{"device", "Device", Unit::none},
                       {"tensors", "Tensors", Unit::count},
                       {"bytes", "Size", Unit::size},
                       {"copy_time_s", "Copies", Unit::duration},
                       {"copy_bytes_per_s", "Rate", Unit::rate}},
                      {}};
  if (!outcome.plan && outcome.fit) {
    for (const FitPart& part : outcome.fit->parts) {
      if (table.rows.size() == outcome.chosen_devices) break;
      table.rows.push_back({part.device.id, part.tensors, part.tensor_bytes, {}, {}});
    }
  }
  for (const auto& copied : copied_to(outcome)) {
    const ArenaLayout& layout = outcome.plan->devices[table.rows.size()].layout;
    table.rows.push_back({copied.device, layout.placements.size(), copied.size_bytes, copied.time_s,
                          copied.bytes_per_s});
  }
  return table;
}

report::Table tensors_table(const LoadOutcome& outcome) {
  std::vector<std::string_view> keys{"name", "dtype", "shape", "bytes"};
  if (outcome.plan && outcome.plan->devices.size() > 1) keys.push_back("device");
  if (outcome.verification) keys.push_back("digest");
  return tensor_fields(outcome).only(keys).table("Tensors", placed_tensors(outcome));
}

report::Table full_tensors_table(const LoadOutcome& outcome) {
  return tensor_fields(outcome).rows(placed_tensors(outcome));
}

std::string_view to_string(SplitKind split) noexcept {
  switch (split) {
    case SplitKind::bytes: return "bytes";
    case SplitKind::layer: return "layer";
    case SplitKind::proportions: return "proportions";
    case SplitKind::replicate: return "replicate";
  }
  return "bytes";
}

}  // namespace hiptool::results
