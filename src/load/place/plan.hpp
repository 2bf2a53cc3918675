// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/load_plan.hpp"

namespace hiptool::load {

/// The plans of the devices, each of which gets the next so many tensors of this order.
std::vector<DevicePlan> divide(const ModelFile& model, std::span<const Device> devices,
                               std::vector<std::uint32_t> order,
                               std::span<const std::uint64_t> tensor_counts);

}  // namespace hiptool::load
