// SPDX-License-Identifier: MIT
#pragma once
#include <span>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"

namespace hiptool::load {

/// Checks the arenas that a caller gives for a plan: one for each device, on that device and large
/// enough, except where a device gets no tensors. Throws Error(invalid_argument), and
/// Error(out_of_bounds) for one that is too small.
void check_arenas(const LoadPlan& plan, std::span<const Buffer> arenas, const char* operation);

/// Whether both place the same tensors at the same offsets of arenas of the same size.
bool is_same_layout(const ArenaLayout& left, const ArenaLayout& right);

}  // namespace hiptool::load
