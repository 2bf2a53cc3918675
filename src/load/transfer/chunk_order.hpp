// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "load/layout/chunks.hpp"

namespace hiptool::load {

/// The chunks, given in the order of the arena, in the order in which readers take them when they
/// read from several places at once: the first of each region, the second of each, and so on.
/// Regions have nearly equal bytes, a chunk more or less; there are no more of them than chunks.
/// Of a ramp, what is less than half as large as the largest chunk is in no region: such chunks at
/// the start come first, those at the end last. With one region, or none, nothing changes.
std::vector<base::ByteRange> order_chunks(std::vector<base::ByteRange> chunks,
                                          std::uint32_t regions);

}  // namespace hiptool::load
