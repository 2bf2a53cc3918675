// SPDX-License-Identifier: MIT
#include "runtime/decoder_latents.hpp"

#include <initializer_list>

#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "model/element_types.hpp"
#include "runtime/decoder_memory.hpp"

namespace hiptool::runtime {
namespace {

/// Elements of the last axis of scratch memory with these dimensions.
Tensor part_of_heads(const Tensor& values, std::initializer_list<std::uint64_t> dims,
                     std::uint64_t start, std::uint64_t length) {
  return values.with_layout(Layout(dims).narrow(2, start, length));
}

void turn_part(const DecoderPart& part, const DecoderSpec& spec, std::uint64_t first,
               Tensor heads) {
  const auto table = [&](const Tensor& whole) {
    return whole.with_layout(whole.layout().narrow(0, first, heads.dims()[0]));
  };
  ops::rope_into(part.backend, heads, heads, table(part.tables->cosines), table(part.tables->sines),
                 spec.rope.pairs);
}

/// The matrix of keys as others are stored: a file has each head's transposed.
DeviceMatrix key_matrix(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
                        const LatentWeights& own) {
  const DecoderMemory& memory = part.memory;
  const std::uint64_t length = layer.latent.length;
  const std::uint64_t plain = spec.key_length - spec.rope.dimensions;
  const std::uint64_t rows = layer.heads * length;
  Tensor transposed = DecoderMemory::rows(memory.transposed_keys, rows, plain);
  const Tensor ids = memory.all_rows.with_layout(Layout{rows});
  ops::embedding_rows_into(part.backend, transposed, own.k_up->weight, ids);
  Tensor matrix = memory.key_matrix.with_layout(Layout{layer.heads, plain, length});
  ops::copy_into(part.backend, matrix,
                 transposed.with_layout(Layout{layer.heads, length, plain}.transpose(1, 2)));
  return {{matrix.buffer(), ElementType(model::find_gguf_type("F32")->entry), layer.heads * plain,
           length},
          {}};
}

}  // namespace

Projected project_latents(const DecoderPart& part, const DecoderSpec& spec,
                          const DecoderLayer& layer, const LayerWeights& own, const Tensor& normed,
                          std::uint64_t first, const SayStage& say) {
  const Backend& backend = part.backend;
  const DecoderMemory& memory = part.memory;
  const LatentWeights& latent = *own.latent;
  const std::uint64_t tokens = normed.dims()[0];
  const std::uint64_t heads = layer.heads;
  const std::uint64_t length = layer.latent.length;
  const std::uint64_t turned = spec.rope.dimensions;
  const std::uint64_t plain = spec.key_length - turned;
  const std::uint64_t of_value = spec.value_length;

  Tensor inputs = normed;
  if (latent.query_down) {
    inputs = product(backend, *latent.query_down, normed, memory.query_latent);
    say("query_latent", inputs);
    ops::rmsnorm_into(backend, inputs, inputs, *latent.query_norm, layer.latent.norm_epsilon);
    say("query_latent_norm", inputs);
  }
  const Tensor q = product(backend, *own.q, inputs, memory.q);
  say("q", q);
  const Tensor both = product(backend, latent.down, normed, memory.latent);
  say("latent", both);
  Tensor vectors = DecoderMemory::rows(memory.normed_latent, tokens, length);
  ops::rmsnorm_into(backend, vectors,
                    both.with_layout(Layout{tokens, length + turned}.narrow(1, 0, length)),
                    latent.norm, layer.latent.norm_epsilon);
  say("latent_norm", vectors);

  const Tensor k = DecoderMemory::rows(memory.k, tokens, heads * spec.key_length);
  const Tensor v = DecoderMemory::rows(memory.v, tokens, heads * of_value);
  Tensor keys = part_of_heads(k, {tokens, heads, spec.key_length}, 0, plain);
  if (latent.up) {
    const Tensor all = product(backend, *latent.up, vectors, memory.keys_and_values);
    say("keys_and_values", all);
    const auto part_of_all = [&](std::uint64_t start, std::uint64_t count) {
      return part_of_heads(all, {tokens, heads, plain + of_value}, start, count);
    };
    ops::copy_into(backend, keys, part_of_all(0, plain));
    Tensor values = v.with_layout(Layout{tokens, heads, of_value});
    ops::copy_into(backend, values, part_of_all(plain, of_value));
  } else {
    const Tensor of_latent =
        product(backend, key_matrix(part, spec, layer, latent), vectors, memory.keys_and_values);
    say("k", of_latent);
    ops::copy_into(backend, keys, of_latent.with_layout(Layout{tokens, heads, plain}));
    product(backend, *latent.v_up, vectors, memory.v);
  }
  say("v", v);

  turn_part(part, spec, first, part_of_heads(q, {tokens, heads, spec.key_length}, plain, turned));
  say("rotated_q", q);
  const Tensor shared = part_of_heads(both, {tokens, 1, length + turned}, length, turned);
  turn_part(part, spec, first, shared);
  Tensor of_heads = part_of_heads(k, {tokens, heads, spec.key_length}, plain, turned);
  ops::copy_into(backend, of_heads,
                 shared.with_layout(shared.layout().broadcast_to({tokens, heads, turned})));
  say("rotated_k", k);
  return {q, k, v};
}

}  // namespace hiptool::runtime
