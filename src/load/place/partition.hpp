// SPDX-License-Identifier: MIT
/// Cuts a model into runs of groups, one for each device. The functions return the sum of each run.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "load/place/groups.hpp"

namespace hiptool::load {

/// No device gets more than its `most_bytes`, and the largest run is as small as that allows. Where
/// the devices hold less than all groups, each gets what it holds and the last one the rest too.
std::vector<TensorGroup> cut_evenly(std::span<const TensorGroup> groups,
                                    std::span<const std::uint64_t> most_bytes);

/// Runs as near to these proportions of all bytes as groups allow; they must be positive.
std::vector<TensorGroup> cut_by_proportions(std::span<const TensorGroup> groups,
                                            std::span<const double> proportions);

/// Fills each device to the same share of its memory; for devices that hold all groups.
std::vector<TensorGroup> cut_to_equal_shares(std::span<const TensorGroup> groups,
                                             std::span<const DeviceMemory> memory);

/// Each device gets as many groups as fit; one more sum is that of the groups that fit on none.
std::vector<TensorGroup> fill(std::span<const TensorGroup> groups,
                              std::span<const DeviceMemory> memory);

}  // namespace hiptool::load
