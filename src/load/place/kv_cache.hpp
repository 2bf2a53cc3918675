// SPDX-License-Identifier: MIT
/// Sizes of the KV cache and of compute buffers.
#pragma once
#include <cstdint>
#include <vector>

#include "hiptool/load_plan.hpp"

namespace hiptool::load {

/// More than any machine has, and small enough for sums with weights and margins.
inline constexpr std::uint64_t most_cache_bytes = std::uint64_t{1} << 62;

/// llama.cpp allocates the cache in steps of so many tokens.
inline constexpr std::uint64_t cell_step_tokens = 256;

/// The context rounded up to whole steps.
std::uint64_t cells_of(std::uint64_t context_tokens) noexcept;

/// The cache of each layer; throws as kv_cache_bytes().
std::vector<std::uint64_t> layer_cache_bytes(const ModelSummary& summary,
                                             std::uint64_t context_tokens, KvType type);

}  // namespace hiptool::load
