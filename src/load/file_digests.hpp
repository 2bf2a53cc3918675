// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "hiptool/model_file.hpp"
#include "load/leaves.hpp"

namespace hiptool::load {

/// Leaf digests of the tensors as the files hold them, by a reader of its own: files opened anew,
/// offsets straight from the parsed header, no part of the loader. `check` is called between pieces
/// and may throw to end it. Blocks.
std::vector<std::uint64_t> digest_files(const ModelFile& model, const LeafMap& leaves,
                                        std::uint32_t threads, const std::function<void()>& check);

}  // namespace hiptool::load
