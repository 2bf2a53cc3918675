// SPDX-License-Identifier: MIT
/// Cuts a model into runs of groups, one for each device. The functions return the end of each run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "load/place/groups.hpp"

namespace hiptool::load {

/// Each device gets as many groups as it holds. The last end is not that of all groups where the
/// devices hold less.
std::vector<std::size_t> fill(std::span<const TensorGroup> groups,
                              std::span<const std::uint64_t> most_bytes);

/// No device gets more than its `most_bytes`, and the largest run is as small as that allows. Where
/// the devices hold less than all groups, each gets what it holds and the last one the rest too.
std::vector<std::size_t> cut_evenly(std::span<const TensorGroup> groups,
                                    std::span<const std::uint64_t> most_bytes);

/// Runs as near to these proportions of all bytes as groups allow; they must be positive.
std::vector<std::size_t> cut_by_proportions(std::span<const TensorGroup> groups,
                                            std::span<const double> proportions);

/// Fills each device to the same share of its memory; for devices that hold all groups.
std::vector<std::size_t> cut_to_equal_shares(std::span<const TensorGroup> groups,
                                             std::span<const DeviceMemory> memory);

/// The sum of each run.
std::vector<TensorGroup> sum_runs(std::span<const TensorGroup> groups,
                                  std::span<const std::size_t> ends);

}  // namespace hiptool::load
