// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Brings the tensors, and with them the header offsets of their entries, into the order of their
/// data; empty tensors stand before others at the same offset. The index follows.
void sort_by_offset(ModelFile::Contents& contents, std::vector<std::uint64_t>& header_offsets);

/// Refuses tensors, sorted by offset, that share bytes. Their ends must have been checked.
void check_no_overlap(const std::vector<TensorInfo>& tensors,
                      const std::vector<std::uint64_t>& header_offsets,
                      const Diagnostics& diagnostics);

}  // namespace hiptool::model
