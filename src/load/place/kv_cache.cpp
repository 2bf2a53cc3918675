// SPDX-License-Identifier: MIT
#include "load/place/kv_cache.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/text.hpp"
#include "hiptool/error.hpp"

namespace hiptool {
namespace {

constexpr const char* size_operation = "size the KV cache";

/// How ggml stores rows of a type (GGUF's block_q8_0, block_q4_0): elements and bytes of a block.
struct KvBlock {
  KvType type;
  std::string_view name;
  std::uint64_t elements;
  std::uint64_t bytes;
};

constexpr std::array<KvBlock, 9> kv_blocks{{{KvType::f16, "f16", 1, 2},
                                            {KvType::q8_0, "q8_0", 32, 34},
                                            {KvType::q4_0, "q4_0", 32, 18},
                                            {KvType::f32, "f32", 1, 4},
                                            {KvType::bf16, "bf16", 1, 2},
                                            {KvType::q4_1, "q4_1", 32, 20},
                                            {KvType::q5_0, "q5_0", 32, 22},
                                            {KvType::q5_1, "q5_1", 32, 24},
                                            {KvType::iq4_nl, "iq4_nl", 32, 18}}};

const KvBlock& block_of(KvType type) {
  if (static_cast<std::size_t>(type) < std::size(kv_blocks)) {
    return kv_blocks[static_cast<std::size_t>(type)];
  }
  throw Error(ErrorCode::invalid_argument, "size KV cache", "invalid KvType");
}

// A summary that was not made by summarize() has no caches.
std::vector<LayerCache> caches_of(const ModelSummary& summary, bool least) {
  if (least && summary.cache_is_bound) return summary.least_caches;
  if (!summary.caches.empty()) return summary.caches;
  std::vector<LayerCache> caches;
  for (const std::uint64_t heads : summary.kv_heads) {
    caches.push_back({heads, summary.key_length.value_or(0), summary.value_length.value_or(0)});
  }
  return caches;
}

std::uint64_t cells_of_layer(const LayerCache& cache, std::uint64_t context_tokens) {
  const std::uint64_t cells = load::cells_of(context_tokens);
  if (cache.window_tokens == 0) return cells;
  return std::min(cells, load::cells_of(cache.window_tokens + load::batch_tokens));
}

using Real = long double;  // exact up to 2^64, which products of the metadata's counts may exceed

// Whole blocks: check_blocks() has seen the lengths.
Real row_bytes(const KvBlock& block, std::uint64_t heads, std::uint64_t length) {
  return static_cast<Real>(heads) * static_cast<Real>(length / block.elements) *
         static_cast<Real>(block.bytes);
}

Real cache_bytes(const LayerCache& cache, std::uint64_t context_tokens,
                 const KvCacheOptions& options) {
  const Real row = row_bytes(block_of(options.keys), cache.heads, cache.key_length) +
                   row_bytes(block_of(options.values), cache.heads, cache.value_length) +
                   row_bytes(block_of(options.keys), 1, cache.indexer_length);
  return row * static_cast<Real>(cells_of_layer(cache, context_tokens)) *
         static_cast<Real>(options.sequences);
}

Real state_bytes_of(const LayerCache& cache, std::uint64_t sequences) {
  return static_cast<Real>(cache.state_bytes) * static_cast<Real>(sequences);
}

std::uint64_t checked(Real bytes) {
  if (bytes <= static_cast<Real>(load::most_cache_bytes)) return static_cast<std::uint64_t>(bytes);
  throw Error(ErrorCode::corrupt_data, size_operation,
              "the metadata implies a KV cache of more than 2^62 bytes",
              "choose a smaller --context, or check the metadata of the model");
}

void check_keys(const ModelSummary& summary) {
  if (!summary.unreadable.empty()) {
    throw Error(ErrorCode::input_failed, size_operation,
                "the KV cache cannot be sized: " + summary.unreadable,
                "download or correct the file, or leave out --context to plan the weights alone");
  }
  if (summary.missing_keys.empty()) return;
  std::string names;
  for (const std::string& key : summary.missing_keys) {
    names.append(names.empty() ? "" : ", ").append(key);
  }
  throw Error(ErrorCode::not_found, size_operation,
              "the KV cache cannot be sized: " + names +
                  (summary.missing_keys.size() == 1 ? " is" : " are") +
                  " missing from the metadata",
              "leave out --context to plan the weights alone");
}

// A summary that was not made by summarize() may be anything.
void check_shape(const ModelSummary& summary) {
  const auto attends = [](std::uint64_t heads) { return heads > 0; };
  const bool has_lengths = summary.key_length && summary.value_length;
  const bool is_whole =
      has_lengths || !summary.caches.empty() || std::ranges::none_of(summary.kv_heads, attends);
  const auto is_of_layers = [&](const std::vector<LayerCache>& caches, bool is_there) {
    return caches.size() == (is_there ? summary.kv_heads.size() : 0);
  };
  if (is_whole && summary.layers == summary.kv_heads.size() &&
      is_of_layers(summary.caches, !summary.caches.empty()) &&
      is_of_layers(summary.least_caches, summary.cache_is_bound)) {
    return;
  }
  throw Error(ErrorCode::invalid_argument, size_operation,
              "the summary of the model contradicts itself");
}

void check_blocks(const KvBlock& block, std::uint64_t length) {
  if (length % block.elements == 0) return;
  throw Error(ErrorCode::invalid_argument, size_operation,
              "a KV cache in " + std::string(block.name) + " has blocks of " +
                  base::plain_count_of(block.elements, "element") + ", which do not divide the " +
                  base::plain_count_of(length, "element") + " of a head",
              "leave the cache in f16; llama.cpp refuses this type too");
}

void check_cache(const ModelSummary& summary, const KvCacheOptions& options) {
  check_keys(summary);
  check_shape(summary);
  if (options.sequences == 0) {
    throw Error(ErrorCode::invalid_argument, size_operation, "no sequence has a KV cache");
  }
  for (const LayerCache& cache : caches_of(summary, false)) {
    if (cache.heads == 0) continue;
    check_blocks(block_of(options.keys), cache.key_length);
    check_blocks(block_of(options.values), cache.value_length);
    check_blocks(block_of(options.keys), cache.indexer_length);
  }
}

std::uint64_t sum_of_caches(const ModelSummary& summary, std::uint64_t context_tokens,
                            const KvCacheOptions& options, bool least) {
  check_cache(summary, options);
  Real bytes = 0;
  for (const LayerCache& cache : caches_of(summary, least)) {
    bytes += cache_bytes(cache, context_tokens, options);
  }
  return checked(bytes);
}

}  // namespace

namespace load {

std::uint64_t cells_of(std::uint64_t context_tokens) noexcept {
  const std::uint64_t rest = context_tokens % cell_step_tokens;
  if (rest == 0 || context_tokens > UINT64_MAX - cell_step_tokens) return context_tokens;
  return context_tokens + cell_step_tokens - rest;
}

std::vector<LayerBytes> layer_cache_bytes(const ModelSummary& summary, std::uint64_t context_tokens,
                                          const KvCacheOptions& options, bool least) {
  sum_of_caches(summary, context_tokens, options, least);  // throws where it cannot be sized
  std::vector<LayerBytes> bytes;
  for (const LayerCache& cache : caches_of(summary, least)) {
    bytes.push_back({checked(cache_bytes(cache, context_tokens, options)),
                     checked(state_bytes_of(cache, options.sequences))});
  }
  return bytes;
}

std::optional<std::uint64_t> whole_cache_bytes(const ModelSummary& summary,
                                               std::uint64_t context_tokens,
                                               const KvCacheOptions& options) {
  Real bytes = 0;
  for (const LayerCache& cache : caches_of(summary, false)) {
    bytes += cache_bytes(cache, context_tokens, options);
    bytes += state_bytes_of(cache, options.sequences);
  }
  if (bytes > static_cast<Real>(most_cache_bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace load

std::string_view to_string(KvType type) noexcept {
  const auto place = static_cast<std::size_t>(type);
  return place < std::size(kv_blocks) ? kv_blocks[place].name : std::string_view("unknown");
}

std::optional<KvType> kv_type_from_name(std::string_view name) noexcept {
  const auto is_same = [](char left, char right) {
    return left == (right >= 'A' && right <= 'Z' ? right - 'A' + 'a' : right);
  };
  const auto found = std::ranges::find_if(kv_blocks, [&](const KvBlock& one) {
    return std::equal(one.name.begin(), one.name.end(), name.begin(), name.end(), is_same);
  });
  return found == kv_blocks.end() ? std::nullopt : std::optional(found->type);
}

std::uint64_t kv_cache_bytes(const ModelSummary& summary, std::uint64_t context_tokens,
                             const KvCacheOptions& options) {
  return sum_of_caches(summary, context_tokens, options, false);
}

std::uint64_t kv_cache_least_bytes(const ModelSummary& summary, std::uint64_t context_tokens,
                                   const KvCacheOptions& options) {
  return sum_of_caches(summary, context_tokens, options, true);
}

std::uint64_t recurrent_state_bytes(const ModelSummary& summary, std::uint64_t sequences) {
  KvCacheOptions options;
  options.sequences = sequences;
  check_cache(summary, options);
  Real bytes = 0;
  for (const LayerCache& cache : caches_of(summary, false)) {
    bytes += state_bytes_of(cache, sequences);
  }
  return checked(bytes);
}

}  // namespace hiptool
