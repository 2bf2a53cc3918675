// SPDX-License-Identifier: MIT
#include "load/place/kv_cache.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

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

constexpr std::array<KvBlock, 3> kv_blocks{
    {{KvType::f16, "f16", 1, 2}, {KvType::q8_0, "q8_0", 32, 34}, {KvType::q4_0, "q4_0", 32, 18}}};

const KvBlock& block_of(KvType type) noexcept { return kv_blocks[static_cast<std::size_t>(type)]; }

// Of layers with so many heads of keys and values.
std::uint64_t cache_bytes(const ModelSummary& summary, std::uint64_t heads, std::uint64_t cells,
                          const KvBlock& block) {
  if (heads == 0) return 0;
  std::uint64_t elements = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  const bool overflows =
      __builtin_add_overflow(*summary.key_length, *summary.value_length, &elements) ||
      __builtin_mul_overflow(cells, heads, &blocks) ||
      __builtin_mul_overflow(blocks, elements / block.elements, &blocks) ||
      __builtin_mul_overflow(blocks, block.bytes, &bytes);
  if (!overflows && bytes <= load::most_cache_bytes) return bytes;
  throw Error(ErrorCode::corrupt_data, size_operation,
              "the metadata implies a KV cache of more than 2^62 bytes",
              "choose a smaller --context, or check the metadata of the model");
}

void check_keys(const ModelSummary& summary) {
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
void check_shape(const ModelSummary& summary, std::uint64_t heads) {
  const bool has_lengths = summary.key_length && summary.value_length;
  if (summary.layers == summary.kv_heads.size() && (has_lengths || heads == 0)) return;
  throw Error(ErrorCode::invalid_argument, size_operation,
              "the summary of the model contradicts itself");
}

void check_blocks(const ModelSummary& summary, const KvBlock& block) {
  for (const std::uint64_t length : {*summary.key_length, *summary.value_length}) {
    if (length % block.elements == 0) continue;
    throw Error(ErrorCode::invalid_argument, size_operation,
                "a KV cache in " + std::string(block.name) + " has blocks of " +
                    std::to_string(block.elements) + " elements, which do not divide the " +
                    std::to_string(length) + " elements of a head",
                "leave the cache in f16; llama.cpp refuses this type too");
  }
}

// All layers together.
std::uint64_t all_heads(const ModelSummary& summary) {
  std::uint64_t heads = 0;
  for (const std::uint64_t of_layer : summary.kv_heads) {
    if (__builtin_add_overflow(heads, of_layer, &heads)) return UINT64_MAX;
  }
  return heads;
}

}  // namespace

namespace load {

std::uint64_t cells_of(std::uint64_t context_tokens) noexcept {
  const std::uint64_t rest = context_tokens % cell_step_tokens;
  if (rest == 0 || context_tokens > UINT64_MAX - cell_step_tokens) return context_tokens;
  return context_tokens + cell_step_tokens - rest;
}

std::vector<std::uint64_t> layer_cache_bytes(const ModelSummary& summary,
                                             std::uint64_t context_tokens, KvType type) {
  kv_cache_bytes(summary, context_tokens, type);  // throws where it cannot be sized
  std::vector<std::uint64_t> bytes;
  for (const std::uint64_t heads : summary.kv_heads) {
    bytes.push_back(cache_bytes(summary, heads, cells_of(context_tokens), block_of(type)));
  }
  return bytes;
}

}  // namespace load

std::string_view to_string(KvType type) noexcept { return block_of(type).name; }

std::optional<KvType> kv_type_from_name(std::string_view name) noexcept {
  const auto found = std::find_if(kv_blocks.begin(), kv_blocks.end(),
                                  [name](const KvBlock& one) { return one.name == name; });
  return found == kv_blocks.end() ? std::nullopt : std::optional(found->type);
}

std::uint64_t kv_cache_bytes(const ModelSummary& summary, std::uint64_t context_tokens,
                             KvType type) {
  check_keys(summary);
  const std::uint64_t heads = all_heads(summary);
  check_shape(summary, heads);
  const KvBlock& block = block_of(type);
  if (heads > 0) check_blocks(summary, block);
  return cache_bytes(summary, heads, load::cells_of(context_tokens), block);
}

std::optional<std::uint64_t> compute_buffer_bytes(const ModelSummary& summary,
                                                  std::uint64_t context_tokens,
                                                  std::uint64_t batch_tokens) {
  const auto& embedding = summary.embedding_length;
  const auto& vocabulary = summary.vocabulary_size;
  if (!embedding || !vocabulary || !summary.key_length || summary.heads.empty() ||
      summary.has_latent_attention) {
    return std::nullopt;
  }
  const std::uint64_t heads = *std::max_element(summary.heads.begin(), summary.heads.end());
  const std::uint64_t cells = load::cells_of(context_tokens);
  const std::uint64_t batch = std::min(batch_tokens, cells);
  using Real = long double;  // exact up to 2^64, which products of the metadata's counts may exceed
  const auto row = 4 * static_cast<Real>(batch);
  const auto width = static_cast<Real>(*embedding);
  const auto queries = static_cast<Real>(heads) * static_cast<Real>(*summary.key_length);
  const Real output = row * (width + static_cast<Real>(*vocabulary));
  const Real mask = 6 * static_cast<Real>(cells) * static_cast<Real>(batch);
  const Real most = std::max(output, mask + 2 * row * (width + queries));
  if (most > static_cast<Real>(load::most_cache_bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(most);
}

}  // namespace hiptool
