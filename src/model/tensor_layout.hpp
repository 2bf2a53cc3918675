// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Brings the tensors from that position on, those of one file, and with them the header offsets of
/// their entries into the order of their data; empty tensors stand before others at the same
/// offset.
void sort_by_offset(ModelFile::Contents& contents, std::size_t first,
                    std::vector<std::uint64_t>& header_offsets);

/// Enters the names of the tensors from that position on into the index. Refuses one that is there
/// already, in this file or in one before.
void index_names(ModelFile::Contents& contents, std::size_t first,
                 const std::vector<std::uint64_t>& header_offsets, const Diagnostics& diagnostics);

}  // namespace hiptool::model
