// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Indices of the arena's tensors whose bytes are all zero, sorted. Reads each tensor back up to
/// its first other byte, which is near its start in nearly all of them. Blocks; throws
/// Error(cancelled), and what the runtime answered.
std::vector<std::uint32_t> find_zero_tensors(const ModelFile& model, const ArenaLayout& layout,
                                             const Buffer& arena,
                                             const CancelToken* cancel = nullptr);

}  // namespace hiptool::load
