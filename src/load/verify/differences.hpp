// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/load_plan.hpp"
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"
#include "load/layout/blocks.hpp"

namespace hiptool::load {

/// A block that differs, with the places in its tensor of the first and the last differing byte.
struct Difference {
  std::uint32_t tensor = 0;
  std::uint64_t block = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The difference between two readings of a block that starts at `tensor_offset`; they must differ.
Difference locate_difference(std::uint32_t tensor, std::uint64_t tensor_offset,
                             std::span<const std::byte> expected, std::span<const std::byte> found);

/// Neighbouring blocks of a tensor become one run; runs are in the order of the arena, at most
/// max_mismatches. Sorts its input.
std::vector<Mismatch> join_differences(const ModelFile& model, const ArenaLayout& layout,
                                       const Device& device, std::vector<Difference>& differences);

}  // namespace hiptool::load
