// SPDX-License-Identifier: MIT
#include "load/place/check_layout.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::load {
namespace {

constexpr const char* layout_hint =
    "make the layout with lay_out() or plan_load() from the model that it is used with";

[[noreturn]] void refuse_layout(ErrorCode code, const char* operation, const std::string& why) {
  throw Error(code, operation, std::string(operation) + ": " + why, layout_hint);
}

[[noreturn]] void refuse_plan(const char* operation, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, operation, std::string(operation) + ": " + why,
              "make the plan with plan_load() for the devices that it is used with");
}

std::string quoted_name(const TensorInfo& tensor) { return "tensor '" + tensor.name + "'"; }

bool needs_no_arena(const ArenaLayout& layout) {
  return layout.placements.empty() && layout.arena_bytes == 0;
}

// What a device of a plan has wrong is named with the device.
template <class Work>
void check_part(const LoadPlan& plan, std::size_t part, Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    if (plan.devices.size() == 1) throw;
    throw error.with_context(plan.devices[part].device.id());
  }
}

}  // namespace

bool is_same_layout(const ArenaLayout& left, const ArenaLayout& right) {
  return left.arena_bytes == right.arena_bytes && left.tensor_bytes == right.tensor_bytes &&
         std::equal(left.placements.begin(), left.placements.end(), right.placements.begin(),
                    right.placements.end(), [](const Placement& one, const Placement& other) {
                      return one.tensor == other.tensor && one.device_offset == other.device_offset;
                    });
}

void check_layout(const ModelFile& model, const ArenaLayout& layout, const char* operation) {
  const auto tensors = model.tensors();
  std::vector<bool> is_placed(tensors.size());
  const TensorInfo* previous = nullptr;
  std::uint64_t end = 0;  // of the previous tensor
  std::uint64_t tensor_bytes = 0;
  for (const Placement& placement : layout.placements) {
    if (placement.tensor >= tensors.size()) {
      refuse_layout(ErrorCode::out_of_bounds, operation,
                    "the layout places tensor " + std::to_string(placement.tensor) +
                        " of a model with " + std::to_string(tensors.size()) + " tensors");
    }
    const TensorInfo& tensor = tensors[placement.tensor];
    const std::uint64_t offset = placement.device_offset;
    if (is_placed[placement.tensor]) {
      refuse_layout(ErrorCode::invalid_argument, operation,
                    "the layout places " + quoted_name(tensor) + " twice");
    }
    is_placed[placement.tensor] = true;
    if (offset > layout.arena_bytes || tensor.size_bytes > layout.arena_bytes - offset) {
      refuse_layout(ErrorCode::out_of_bounds, operation,
                    quoted_name(tensor) + " of " + std::to_string(tensor.size_bytes) +
                        " bytes at " + std::to_string(offset) + " does not fit an arena of " +
                        std::to_string(layout.arena_bytes) + " bytes");
    }
    if (offset < end) {
      refuse_layout(ErrorCode::invalid_argument, operation,
                    quoted_name(tensor) + " at " + std::to_string(offset) + " overlaps " +
                        quoted_name(*previous) + ", which ends at " + std::to_string(end) +
                        ", or comes before it");
    }
    previous = &tensor;
    end = offset + tensor.size_bytes;
    tensor_bytes += tensor.size_bytes;  // no overflow: the tensors do not overlap in the arena
  }
  if (tensor_bytes != layout.tensor_bytes) {
    refuse_layout(ErrorCode::invalid_argument, operation,
                  "the layout is of another model: it counts " +
                      std::to_string(layout.tensor_bytes) + " bytes of tensors, those it places " +
                      "have " + std::to_string(tensor_bytes));
  }
}

void check_arena(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                 const char* operation) {
  check_layout(model, layout, operation);
  if (needs_no_arena(layout)) return;
  if (!arena.has_device()) {
    throw Error(ErrorCode::invalid_argument, operation,
                std::string(operation) + ": the arena is on no device",
                "allocate a Buffer of layout.arena_bytes on the device");
  }
  if (arena.size_bytes() < layout.arena_bytes) {
    throw Error(ErrorCode::out_of_bounds, operation,
                std::string(operation) + ": an arena of " + std::to_string(arena.size_bytes()) +
                    " bytes on " + arena.device().id() + " is too small for a layout of " +
                    std::to_string(layout.arena_bytes) + " bytes",
                "allocate a Buffer of layout.arena_bytes on the device");
  }
}

void check_arena(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                 const Device& device, const char* operation) {
  check_arena(model, layout, arena, operation);
  if (needs_no_arena(layout) || arena.device() == device) return;
  throw Error(ErrorCode::invalid_argument, operation,
              std::string(operation) + ": the arena is on " + arena.device().id() + ", not on " +
                  device.id(),
              "allocate it on " + device.id());
}

void check_plan(const ModelFile& model, const LoadPlan& plan, const char* operation) {
  if (plan.devices.empty()) refuse_plan(operation, "the plan has no device");
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const DevicePlan& part = plan.devices[i];
    check_part(plan, i, [&] { check_layout(model, part.layout, operation); });
    for (std::size_t other = 0; other < i; ++other) {
      if (plan.devices[other].device == part.device) {
        refuse_plan(operation, "the plan has " + part.device.id() + " twice");
      }
    }
    if (plan.split != SplitKind::replicate) continue;
    const DevicePlan& first = plan.devices.front();
    if (!is_same_layout(part.layout, first.layout)) {
      refuse_plan(operation, "the plan copies the model, but the layouts of " + first.device.id() +
                                 " and " + part.device.id() + " differ");
    }
    if (part.device.platform() != first.device.platform()) {
      refuse_plan(operation, "the plan copies the model to " + first.device.id() + " and " +
                                 part.device.id() + ", which are not of one platform");
    }
  }
}

void check_arenas(const ModelFile& model, const LoadPlan& plan, std::span<const Buffer> arenas,
                  const char* operation) {
  check_plan(model, plan, operation);
  if (arenas.size() != plan.devices.size()) {
    refuse_plan(operation, std::to_string(arenas.size()) + " arenas were given for a plan of " +
                               std::to_string(plan.devices.size()) + " devices");
  }
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    const DevicePlan& part = plan.devices[i];
    check_part(plan, i,
               [&] { check_arena(model, part.layout, arenas[i], part.device, operation); });
  }
}

}  // namespace hiptool::load
