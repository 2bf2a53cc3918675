// SPDX-License-Identifier: MIT
#include "runtime/decoder_attention.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/token_attention.hpp"
#include "runtime/decoder_delta.hpp"
#include "runtime/decoder_latents.hpp"
#include "runtime/decoder_memory.hpp"
#include "runtime/decoder_steps.hpp"

namespace hiptool::runtime {
namespace {

// Norms of heads, or of rows, and rotation, in place.
void turn(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
          const Tensor& elements, std::uint64_t heads, const std::optional<Tensor>& norm,
          std::uint64_t first) {
  const bool is_local = layer.has_local_rope;
  const ops::RopeTables& tables = is_local ? *part.local_tables : *part.tables;
  const std::uint64_t tokens = elements.dims()[0];
  Tensor by_head = elements.with_layout(Layout{tokens, heads, spec.key_length});
  Tensor normed = spec.has_row_norms ? elements : by_head;
  if (norm) ops::rmsnorm_into(part.backend, normed, normed, *norm, spec.norm_epsilon);
  if (!layer.has_rope) return;
  const auto table = [&](const Tensor& whole) {
    return whole.with_layout(whole.layout().narrow(0, first, tokens));
  };
  ops::rope_into(part.backend, by_head, by_head, table(tables.cosines), table(tables.sines),
                 is_local ? spec.local_rope.pairs : spec.rope.pairs);
}

Projected project(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
                  const LayerWeights& own, const Tensor& normed, std::uint64_t first,
                  const SayStage& say) {
  const DecoderMemory& memory = part.memory;
  const std::uint64_t tokens = normed.dims()[0];
  const Projected projected{DecoderMemory::rows(memory.q, tokens, layer.heads * spec.key_length),
                            DecoderMemory::rows(memory.k, tokens, layer.k.rows),
                            DecoderMemory::rows(memory.v, tokens, layer.v.rows)};
  if (layer.has_output_gate) {
    queries_of_both(part, spec, layer, own, normed, say);
    products(part.backend, {{*own.k, memory.k}, {*own.v, memory.v}}, normed);
  } else {
    products(part.backend, {{*own.q, memory.q}, {*own.k, memory.k}, {*own.v, memory.v}}, normed);
  }
  say("q", projected.q);
  say("k", projected.k);
  say("v", projected.v);
  turn(part, spec, layer, projected.q, layer.heads, own.q_norm, first);
  scale_queries(part, spec, projected.q, first);
  say("rotated_q", projected.q);
  turn(part, spec, layer, projected.k, layer.kv_heads, own.k_norm, first);
  say("rotated_k", projected.k);
  return projected;
}

ops::AttentionOptions attention_options(const DecoderSpec& spec, const DecoderLayer& layer,
                                        const LayerWeights& own, std::uint64_t first) {
  ops::AttentionOptions options;
  options.first_position = first;
  if (layer.window > 0) options.window = layer.window;
  options.scale = spec.attention_scale;
  options.softcap = spec.attention_softcap;
  options.sinks = own.sinks;
  return options;
}

bool has_only_token_steps(const DecoderSpec& spec, const DecoderLayer& layer,
                          const LayerWeights& own) {
  return !own.latent && !layer.has_output_gate && !spec.has_row_norms &&
         spec.temperature_scale == 0;
}

}  // namespace

void require_heads(const DecoderSpec& spec) {
  constexpr std::uint64_t most = 256;  // of ops::attention
  if (spec.key_length <= most && spec.value_length <= most) return;
  throw Error(ErrorCode::unsupported, "make runtime",
              "heads of " + std::to_string(spec.key_length) + " and " +
                  base::plain_count_of(spec.value_length, "element") +
                  "; there are kernels for up to 256",
              "use a model with smaller heads");
}

std::optional<Tensor> token_attention(DecoderPart& part, const DecoderSpec& spec,
                                      std::size_t number, const LayerWeights& own,
                                      const ops::ProductInput& input, std::uint64_t first) {
  const DecoderLayer& layer = spec.layers[number];
  if (input.x.dims()[0] != 1 || !has_only_token_steps(spec, layer, own)) return std::nullopt;
  DecoderMemory& memory = part.memory;
  const std::size_t cached = memory.cache_layer.at(number);
  const std::vector<Tensor> all =
      products(part.backend, {{*own.q, memory.q}, {*own.k, memory.k}, {*own.v, memory.v}}, input);
  const auto by_head = [](const Tensor& row, std::uint64_t heads, std::uint64_t size) {
    return row.with_layout(Layout{1, heads, size});
  };
  const ops::TokenHeads heads{by_head(all[0], layer.heads, spec.key_length),
                              by_head(all[1], layer.kv_heads, spec.key_length),
                              by_head(all[2], layer.kv_heads, spec.value_length)};
  const bool is_local = layer.has_local_rope;
  const std::optional<ops::RopeTables>& tables = is_local ? part.local_tables : part.tables;
  const ops::HeadSteps steps{own.q_norm ? &*own.q_norm : nullptr,
                             own.k_norm ? &*own.k_norm : nullptr,
                             spec.norm_epsilon,
                             layer.has_rope ? &*tables : nullptr,
                             is_local ? spec.local_rope.pairs : spec.rope.pairs,
                             part.recorded_position ? &*part.recorded_position : nullptr};
  const Tensor attention =
      DecoderMemory::rows(memory.attention, 1, layer.heads * spec.value_length);
  Tensor attended = by_head(attention, layer.heads, spec.value_length);
  if (!ops::attend_token_into(part.backend, attended, heads, memory.cache.layer(cached), steps,
                              attention_options(spec, layer, own, first))) {
    return std::nullopt;
  }
  memory.cache.mark_appended(cached, 1);
  return attention;
}

Tensor softmax_attention(DecoderPart& part, const DecoderSpec& spec, std::size_t number,
                         const LayerWeights& own, const Tensor& normed, std::uint64_t first,
                         const SayStage& say) {
  const DecoderLayer& layer = spec.layers[number];
  DecoderMemory& memory = part.memory;
  const std::size_t cached = memory.cache_layer.at(number);
  const std::uint64_t tokens = normed.dims()[0];
  const auto [q, k, v] = own.latent ? project_latents(part, spec, layer, own, normed, first, say)
                                    : project(part, spec, layer, own, normed, first, say);
  memory.cache.append(cached, k.with_layout(Layout{tokens, layer.kv_heads, spec.key_length}),
                      v.with_layout(Layout{tokens, layer.kv_heads, spec.value_length}));
  const Tensor attention =
      DecoderMemory::rows(memory.attention, tokens, layer.heads * spec.value_length);
  Tensor attended = attention.with_layout(Layout{tokens, layer.heads, spec.value_length});
  ops::attention_into(part.backend, attended,
                      q.with_layout(Layout{tokens, layer.heads, spec.key_length}),
                      memory.cache.layer(cached), attention_options(spec, layer, own, first));
  say("attention", attention);
  if (layer.has_output_gate) {
    apply_output_gate(part, spec, layer, attended);
    say("gated_attention", attention);
  }
  return attention;
}

}  // namespace hiptool::runtime
