// SPDX-License-Identifier: MIT
/// Sizes of the KV cache.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "hiptool/load_plan.hpp"

namespace hiptool::load {

/// More than any machine has, and small enough for sums with weights and margins.
inline constexpr std::uint64_t most_cache_bytes = std::uint64_t{1} << 62;

/// llama.cpp allocates the cache in steps of that many tokens.
inline constexpr std::uint64_t cell_step_tokens = 256;

/// llama.cpp's default --ubatch-size: tokens that are computed at a time.
inline constexpr std::uint64_t batch_tokens = 512;

/// The context rounded up to whole steps.
std::uint64_t cells_of(std::uint64_t context_tokens) noexcept;

/// Of each layer.
struct LayerBytes {
  std::uint64_t kv_cache = 0;
  std::uint64_t state = 0;
};

/// The most, or of a bound the least, of each layer; throws as kv_cache_bytes().
std::vector<LayerBytes> layer_cache_bytes(const ModelSummary& summary, std::uint64_t context_tokens,
                                          const KvCacheOptions& options, bool least = false);

/// Of all layers together, with their states; absent above most_cache_bytes.
std::optional<std::uint64_t> whole_cache_bytes(const ModelSummary& summary,
                                               std::uint64_t context_tokens,
                                               const KvCacheOptions& options);

}  // namespace hiptool::load
