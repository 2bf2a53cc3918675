// SPDX-License-Identifier: MIT
#include "hiptool/load_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/place/memory.hpp"
#include "load/place/partition.hpp"
#include "load/place/place.hpp"

namespace hiptool {
namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) {
  throw Error(ErrorCode::invalid_argument, "plan load", why, hint);
}

void check_proportions(std::span<const double> proportions, std::size_t devices) {
  if (proportions.size() != devices) {
    refuse("a split into " + base::plain_count_of(proportions.size(), "part") + " for " +
               std::to_string(devices) + (devices == 1 ? " device" : " devices"),
           "give one number for each device, such as --device nvidia:0,nvidia:1 --split 3,2");
  }
  for (const double part : proportions) {
    if (!std::isfinite(part) || part <= 0) refuse("split proportions must be positive numbers");
  }
  if (!std::isfinite(std::accumulate(proportions.begin(), proportions.end(), 0.0))) {
    refuse("the sum of the split proportions is too large");
  }
}

void check_devices(std::span<const Device> devices, const LoadSplit& split,
                   std::span<const DeviceMemory> memory) {
  if (devices.empty()) refuse("a load needs a device");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto rest = devices.subspan(i + 1);
    if (base::contains(rest, devices[i])) {
      refuse(devices[i].id() + " was given twice");
    }
    const bool is_other = devices[i].platform() != devices.front().platform();
    if (is_other && split.kind == SplitKind::replicate) {
      refuse("cannot replicate to " + devices.front().id() + " and " + devices[i].id() +
                 ", which are on different platforms",
             "load onto each platform separately");
    }
  }
  if (!memory.empty() && memory.size() != devices.size()) {
    refuse("memory of " + base::plain_count_of(memory.size(), "device") + " was given for " +
           std::to_string(devices.size()));
  }
  if (split.kind == SplitKind::proportions) check_proportions(split.proportions, devices.size());
}

}  // namespace

ArenaLayout lay_out(const ModelFile& model) {
  std::vector<std::uint32_t> all(model.tensors().size());
  std::iota(all.begin(), all.end(), 0);
  return lay_out(model, all);
}

ArenaLayout lay_out(const ModelFile& model, std::span<const std::uint32_t> tensors) {
  ArenaLayout layout;
  layout.placements.reserve(tensors.size());
  for (const std::uint32_t index : tensors) {
    if (index >= model.tensors().size()) {
      throw Error(ErrorCode::out_of_bounds, "plan load",
                  "tensor " + std::to_string(index) + " of a model with " +
                      std::to_string(model.tensors().size()));
    }
    // Cannot overflow: each size was checked against its file, and a tensor adds at most 255.
    const std::uint64_t offset = (layout.arena_bytes + tensor_alignment_bytes - 1) /
                                 tensor_alignment_bytes * tensor_alignment_bytes;
    const std::uint64_t size_bytes = model.tensors()[index].size_bytes;
    layout.placements.push_back({index, offset});
    layout.tensor_bytes += size_bytes;
    layout.arena_bytes = offset + size_bytes;
  }
  return layout;
}

std::vector<DevicePlan> load::divide(const ModelFile& model, std::span<const Device> devices,
                                     std::vector<std::uint32_t> order,
                                     std::span<const std::uint64_t> tensor_counts) {
  std::vector<DevicePlan> plans;
  auto begin = order.begin();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto end = begin + static_cast<std::ptrdiff_t>(tensor_counts[i]);
    std::sort(begin, end);  // files are read from front to back
    plans.push_back({devices[i], lay_out(model, std::span(begin, end))});
    begin = end;
  }
  return plans;
}

LoadPlan plan_load(const ModelFile& model, std::span<const Device> devices, const LoadSplit& split,
                   std::span<const DeviceMemory> memory) {
  check_devices(devices, split, memory);
  LoadPlan plan;
  plan.split = split.kind;
  if (split.kind == SplitKind::replicate) {
    for (const Device& device : devices) plan.devices.push_back({device, lay_out(model)});
    return plan;
  }
  load::GroupedTensors grouped;
  if (split.kind == SplitKind::layer) {
    grouped = load::group_by_layer(model.tensors());
    if (grouped.groups.empty() && devices.size() > 1) {
      plan.warnings.emplace_back("no tensor name contains a layer number; the split is by bytes");
      plan.split = SplitKind::bytes;
    }
  }
  if (grouped.groups.empty()) grouped = load::group_by_tensor(model.tensors());
  auto most_bytes = load::most_bytes(memory);
  most_bytes.resize(devices.size(), UINT64_MAX);
  const auto runs = split.kind == SplitKind::proportions
                        ? load::cut_by_proportions(grouped.groups, split.proportions)
                        : load::cut_evenly(grouped.groups, most_bytes);
  std::vector<std::uint64_t> tensor_counts;
  for (const load::TensorGroup& run : runs) {
    tensor_counts.push_back(run.tensors);
  }
  plan.devices = load::divide(model, devices, std::move(grouped.order), tensor_counts);
  return plan;
}

}  // namespace hiptool
