// SPDX-License-Identifier: MIT
/// Checks of the layouts, plans and arenas that callers pass to the library. Every public entry
/// that takes one calls these first: the code behind it indexes without further checks.
#pragma once
#include <span>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Throws Error(out_of_bounds) for a tensor index that the model does not have and for a tensor
/// that ends outside the arena, Error(invalid_argument) for a tensor placed twice, placements that
/// overlap or are not in ascending order, and a sum of tensor bytes that is not that of the model's
/// tensors. A layout may have a part of the model, also none of it.
void check_layout(const ModelFile& model, const ArenaLayout& layout, const char* operation);

/// Whether both place the same tensors at the same offsets of arenas of the same size.
bool is_same_layout(const ArenaLayout& left, const ArenaLayout& right);

/// check_layout, and that the buffer can be the layout's arena: Error(invalid_argument) for a
/// buffer on no device, Error(out_of_bounds) for one that is too small.
void check_arena(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                 const char* operation);

/// The same, and that the arena is on this device: Error(invalid_argument) otherwise.
void check_arena(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                 const Device& device, const char* operation);

/// check_layout for each device of the plan. Throws Error(invalid_argument) for a plan without
/// devices, with a device twice, and for copies whose layouts differ.
void check_plan(const ModelFile& model, const LoadPlan& plan, const char* operation);

/// check_plan, and that there is one arena for each device, on that device and large enough.
void check_arenas(const ModelFile& model, const LoadPlan& plan, std::span<const Buffer> arenas,
                  const char* operation);

}  // namespace hiptool::load
