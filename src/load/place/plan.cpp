// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numeric>

#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "load/place/margin.hpp"
#include "load/place/partition.hpp"

namespace hiptool {
namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) {
  throw Error(ErrorCode::invalid_argument, "plan load", why, hint);
}

void check_proportions(std::span<const double> proportions, std::size_t devices) {
  if (proportions.size() != devices) {
    refuse("a split into " + std::to_string(proportions.size()) + " parts for " +
               std::to_string(devices) + (devices == 1 ? " device" : " devices"),
           "give one number for each device, such as --device nvidia:0,nvidia:1 --split 3,2");
  }
  for (const double part : proportions) {
    if (!std::isfinite(part) || part <= 0) refuse("the parts of a split are positive numbers");
  }
  if (!std::isfinite(std::accumulate(proportions.begin(), proportions.end(), 0.0))) {
    refuse("the parts of a split are too large to be added up");
  }
}

void check_devices(std::span<const Device> devices, const LoadSplit& split,
                   std::span<const MemoryInfo> memory) {
  if (devices.empty()) refuse("a model needs a device to be loaded onto");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto rest = devices.subspan(i + 1);
    if (std::find(rest.begin(), rest.end(), devices[i]) != rest.end()) {
      refuse(devices[i].id() + " was given twice");
    }
    const bool is_other = devices[i].platform() != devices.front().platform();
    if (is_other && split.kind == SplitKind::replicate) {
      refuse("a copy on " + devices.front().id() + " and on " + devices[i].id() +
                 ", which are not of one platform",
             "load onto each of them with a run of its own");
    }
  }
  if (!memory.empty() && memory.size() != devices.size()) {
    refuse("memory of " + std::to_string(memory.size()) + " devices was given for " +
           std::to_string(devices.size()));
  }
  if (split.kind == SplitKind::proportions) check_proportions(split.proportions, devices.size());
}

std::vector<std::uint64_t> most_bytes_of(std::span<const Device> devices,
                                         std::span<const MemoryInfo> memory) {
  std::vector<std::uint64_t> most(devices.size(), UINT64_MAX);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    most[i] = load::most_arena_bytes(memory[i].free_bytes, devices[i].is_host_memory());
  }
  return most;
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

LoadPlan plan_load(const ModelFile& model, std::span<const Device> devices, const LoadSplit& split,
                   std::span<const MemoryInfo> memory) {
  check_devices(devices, split, memory);
  LoadPlan plan;
  plan.split = split.kind;
  if (split.kind == SplitKind::replicate) {
    for (const Device& device : devices) plan.devices.push_back({device, lay_out(model)});
    return plan;
  }
  std::vector<load::Unit> units;
  if (split.kind == SplitKind::layer) {
    units = load::layer_units(model);
    if (units.empty() && devices.size() > 1) {
      plan.warnings.emplace_back("no tensor's name tells of a layer, so the split is by bytes");
      plan.split = SplitKind::bytes;
    }
  }
  if (units.empty()) units = load::tensor_units(model);
  const auto ends = split.kind == SplitKind::proportions
                        ? load::cut_by_shares(units, split.proportions)
                        : load::cut_evenly(units, most_bytes_of(devices, memory));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::vector<std::uint32_t> tensors;
    for (; begin < ends[i]; ++begin) {
      tensors.insert(tensors.end(), units[begin].tensors.begin(), units[begin].tensors.end());
    }
    std::sort(tensors.begin(), tensors.end());  // files are read from front to back
    plan.devices.push_back({devices[i], lay_out(model, tensors)});
  }
  return plan;
}

}  // namespace hiptool
