// SPDX-License-Identifier: MIT
#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/units.hpp"
#include "load/margin.hpp"

namespace hiptool {
namespace {

std::uint64_t margin_bytes(const DevicePlan& plan) {
  return load::margin_bytes(plan.layout.arena_bytes, plan.device.is_host_memory());
}

}  // namespace

ArenaLayout lay_out(const ModelFile& model) {
  ArenaLayout layout;
  layout.placements.reserve(model.tensors().size());
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    // Cannot overflow: each size was checked against its file, and a tensor adds at most 255.
    const std::uint64_t offset = (layout.arena_bytes + tensor_alignment_bytes - 1) /
                                 tensor_alignment_bytes * tensor_alignment_bytes;
    layout.placements.push_back({index++, offset});
    layout.tensor_bytes += tensor.size_bytes;
    layout.arena_bytes = offset + tensor.size_bytes;
  }
  return layout;
}

LoadPlan plan_load(const ModelFile& model, std::span<const Device> devices) {
  if (devices.size() != 1) {
    throw Error(
        ErrorCode::unsupported, "plan load",
        "a model is loaded onto one device; " + std::to_string(devices.size()) + " were given",
        "name one device");
  }
  return LoadPlan{{DevicePlan{devices.front(), lay_out(model)}}};
}

void check_fit(const LoadPlan& plan) {
  for (const DevicePlan& part : plan.devices) {
    const MemoryInfo memory = part.device.memory();
    const std::uint64_t needed = part.layout.arena_bytes + margin_bytes(part);
    if (part.layout.arena_bytes > 0 && needed > memory.free_bytes) {
      throw Error(ErrorCode::out_of_memory, "plan load",
                  "the model needs " + format_size(part.layout.arena_bytes) + " and a margin of " +
                      format_size(margin_bytes(part)) + " on " + part.device.id() + ", where " +
                      format_size(memory.free_bytes) + " of " + format_size(memory.total_bytes) +
                      " are free: " + format_size(needed - memory.free_bytes) + " too little",
                  "free memory on the device, or choose a larger one or a smaller model");
    }
  }
}

}  // namespace hiptool
