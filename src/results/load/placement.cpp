// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/document.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Object;
using report::Unit;
using report::Value;

constexpr std::size_t most_named_devices = 4;

Value digest_of(const LoadOutcome& outcome, std::uint32_t tensor) {
  if (!outcome.verification) return {};
  return base::to_hex(outcome.verification->tensor_digests[tensor]);
}

// Each tensor on each device that holds it. Without a plan the device is known only if one device
// was chosen that holds the model.
void for_each_tensor(const LoadOutcome& outcome,
                     const std::function<void(std::uint32_t tensor, const Value& device,
                                              const Value& device_offset)>& visit) {
  const auto visit_all = [&](const ArenaLayout& layout, const Value& device) {
    for (const Placement& placement : layout.placements) {
      visit(placement.tensor, device,
            device.is_absent() ? Value() : Value(placement.device_offset));
    }
  };
  if (outcome.plan) {
    for (const DevicePlan& part : outcome.plan->devices) visit_all(part.layout, part.device.id());
    return;
  }
  const bool is_on_one = outcome.fit && outcome.chosen_devices == 1 && outcome.fit->is_held;
  visit_all(*outcome.layout, is_on_one ? Value(outcome.fit->parts.front().device.id) : Value());
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

std::vector<report::LoadFigures::Copied> copied_to(const LoadOutcome& outcome) {
  std::vector<report::LoadFigures::Copied> list;
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
  report::Table table{"Tensors",
                      {{"name", "Name", Unit::none},
                       {"dtype", "Type", Unit::none},
                       {"shape", "Shape", Unit::none},
                       {"bytes", "Size", Unit::size}},
                      {}};
  const bool names_devices = outcome.plan && outcome.plan->devices.size() > 1;
  if (names_devices) table.columns.push_back({"device", "Device", Unit::none});
  if (outcome.verification) table.columns.push_back({"digest", "Digest", Unit::none});
  for_each_tensor(outcome, [&](std::uint32_t index, const Value& device, const Value&) {
    const TensorInfo& tensor = outcome.model->tensors()[index];
    auto& row = table.rows.emplace_back();
    row = {tensor.name, tensor.type.name(), load::shape_text(tensor.shape), tensor.size_bytes};
    if (names_devices) row.push_back(device);
    if (outcome.verification) row.push_back(digest_of(outcome, index));
  });
  return table;
}

report::Table full_tensors_table(const LoadOutcome& outcome) {
  report::Table table = report::table_of_keys({"name", "dtype", "shape", "bytes", "file",
                                               "file_offset", "device", "device_offset", "digest"});
  for_each_tensor(outcome, [&](std::uint32_t index, const Value& device, const Value& offset) {
    const TensorInfo& tensor = outcome.model->tensors()[index];
    table.rows.push_back({tensor.name, tensor.type.name(),
                          Array(tensor.shape.begin(), tensor.shape.end()), tensor.size_bytes,
                          outcome.model->files()[tensor.file].path.string(), tensor.file_offset,
                          device, offset, digest_of(outcome, index)});
  });
  return table;
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
