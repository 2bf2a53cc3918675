// SPDX-License-Identifier: MIT
#include "runtime/decoder_delta.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/delta.hpp"
#include "runtime/decoder_memory.hpp"

namespace hiptool::runtime {
namespace {

constexpr double unit_epsilon = 1e-6;  // of l2norm in modeling_qwen3_next.py

/// [tokens, groups, length] of rows of `width` elements, a group each `step` from `start` on.
Tensor groups_of(const Tensor& rows, std::uint64_t groups, std::uint64_t length, std::uint64_t step,
                 std::uint64_t start) {
  const std::uint64_t width = rows.dims()[1];
  const std::array<std::uint64_t, 3> dims{rows.dims()[0], groups, length};
  const std::array<std::uint64_t, 3> strides{width, step, 1};
  return rows.with_layout(Layout::strided(dims, strides, rows.layout().start_offset() + start));
}

void copy_groups(const Backend& backend, const Tensor& out_rows, std::uint64_t out_start,
                 const Tensor& groups) {
  const std::uint64_t length = groups.dims()[2];
  Tensor out = groups_of(out_rows, groups.dims()[1], length, length, out_start);
  ops::copy_into(backend, out, groups);
}

// q, k and v [tokens, channels], and z [tokens, key heads, values of one].
std::pair<Tensor, Tensor> mixed_and_z(const DecoderPart& part, const DeltaSpec& delta,
                                      const DeltaWeights& own, const Tensor& normed,
                                      const SayStage& say) {
  const Backend& backend = part.backend;
  const DecoderMemory& memory = part.memory;
  const std::uint64_t values = delta.values() / delta.key_heads;
  if (own.z) {
    const Tensor mixed = product(backend, own.mixed, normed, memory.mixed);
    say("mixed", mixed);
    const Tensor z = product(backend, *own.z, normed, memory.joined);
    say("z", z);
    return {mixed, groups_of(z, delta.key_heads, values, values, 0)};
  }
  const Tensor all = product(backend, own.mixed, normed, memory.joined);
  say("mixed_and_z", all);
  const Tensor mixed = DecoderMemory::rows(memory.mixed, normed.dims()[0], delta.channels());
  const auto part_of = [&](std::uint64_t length, std::uint64_t start) {
    return groups_of(all, delta.key_heads, length, 2 * delta.key_length + 2 * values, start);
  };
  copy_groups(backend, mixed, 0, part_of(delta.key_length, 0));
  copy_groups(backend, mixed, delta.keys(), part_of(delta.key_length, delta.key_length));
  copy_groups(backend, mixed, 2 * delta.keys(), part_of(values, 2 * delta.key_length));
  say("mixed", mixed);
  return {mixed, part_of(values, 2 * delta.key_length + values)};
}

// b and a [tokens, value heads].
std::pair<Tensor, Tensor> scores_and_steps(const DecoderPart& part, const DeltaSpec& delta,
                                           const DeltaWeights& own, const Tensor& normed,
                                           const SayStage& say) {
  const Backend& backend = part.backend;
  const DecoderMemory& memory = part.memory;
  const std::uint64_t tokens = normed.dims()[0];
  const Tensor scores = DecoderMemory::rows(memory.delta_scores, tokens, delta.value_heads);
  const Tensor steps = DecoderMemory::rows(memory.delta_steps, tokens, delta.value_heads);
  if (own.steps) {
    product(backend, own.scores, normed, memory.delta_scores);
    product(backend, *own.steps, normed, memory.delta_steps);
  } else {
    const Tensor both = product(backend, own.scores, normed, memory.score_pairs);
    say("scores_and_steps", both);
    const std::uint64_t group = delta.value_heads / delta.key_heads;
    copy_groups(backend, scores, 0, groups_of(both, delta.key_heads, group, 2 * group, 0));
    copy_groups(backend, steps, 0, groups_of(both, delta.key_heads, group, 2 * group, group));
  }
  say("scores", scores);
  say("steps", steps);
  return {scores, steps};
}

}  // namespace

Tensor delta_attention(const DecoderPart& part, const DecoderLayer& layer, std::size_t number,
                       const LayerWeights& own, const Tensor& normed, const StateTurn& turn,
                       double norm_epsilon, const SayStage& say) {
  const Backend& backend = part.backend;
  const DecoderMemory& memory = part.memory;
  const DeltaSpec& delta = layer.delta;
  const DeltaWeights& weights = *own.delta;
  const std::uint64_t tokens = normed.dims()[0];
  const std::uint64_t keys = delta.keys();
  DeltaState states = memory.states.at(number);
  const auto old_of = [&](const std::array<Tensor, 2>& both) {
    return turn.has_state ? std::optional(both[turn.from]) : std::nullopt;
  };

  const auto [mixed, z] = mixed_and_z(part, delta, weights, normed, say);
  const auto [scores, steps] = scores_and_steps(part, delta, weights, normed, say);
  Tensor convolved = DecoderMemory::rows(memory.convolved, tokens, delta.channels());
  ops::causal_convolution_into(backend, convolved, mixed, weights.convolution, delta.taps,
                               old_of(states.inputs));
  ops::keep_inputs_into(backend, states.inputs[turn.to], mixed, old_of(states.inputs));
  say("convolved", convolved);

  // x / sqrt(|x|^2 + e) is the RMS norm with e / n and weights of 1 / sqrt(n).
  const double epsilon = unit_epsilon / static_cast<double>(delta.key_length);
  const auto unit = [&](const char* name, const Tensor& scratch, std::uint64_t start,
                        const Tensor& factor) {
    const Tensor rows = DecoderMemory::rows(scratch, tokens, keys);
    Tensor heads = rows.with_layout(Layout{tokens, delta.key_heads, delta.key_length});
    ops::rmsnorm_into(
        backend, heads,
        groups_of(convolved, delta.key_heads, delta.key_length, delta.key_length, start), factor,
        epsilon);
    say(name, rows);
    return rows;
  };
  const Tensor q = unit("unit_q", memory.q, 0, weights.unit_q);
  const Tensor k = unit("unit_k", memory.k, keys, weights.unit_k);
  const Tensor v = convolved.with_layout(convolved.layout().narrow(1, 2 * keys, delta.values()));
  Tensor decays = DecoderMemory::rows(memory.decays, tokens, delta.value_heads);
  Tensor betas = DecoderMemory::rows(memory.betas, tokens, delta.value_heads);
  ops::delta_steps_into(backend, decays, betas, steps, scores, weights.decay_log, weights.step_bias,
                        delta.has_rates);
  say("decays", decays);
  say("betas", betas);
  Tensor out = DecoderMemory::rows(memory.v, tokens, delta.values());
  ops::delta_rule_into(backend, out, states.state[turn.to], {q, k, v, decays, betas}, delta,
                       old_of(states.state));
  say("attention", out);
  Tensor heads = out.with_layout(Layout{tokens, delta.value_heads, delta.value_length});
  ops::rmsnorm_into(backend, heads, heads, weights.norm, norm_epsilon);
  say("attention_heads_norm", out);
  const Tensor gated = DecoderMemory::rows(memory.attention, tokens, delta.values());
  const Layout by_key_head{tokens, delta.key_heads, delta.values() / delta.key_heads};
  Tensor gated_heads = gated.with_layout(by_key_head);
  ops::gate_into(backend, gated_heads, ops::Gate::silu, z, out.with_layout(by_key_head));
  say("gated_attention", gated);
  return gated;
}

Tensor queries_of_both(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
                       const LayerWeights& own, const Tensor& normed, const SayStage& say) {
  const Tensor both = product(part.backend, *own.q, normed, part.memory.joined);
  say("queries_and_gates", both);
  const Tensor q =
      DecoderMemory::rows(part.memory.q, normed.dims()[0], layer.heads * spec.key_length);
  copy_groups(part.backend, q, 0,
              groups_of(both, layer.heads, spec.key_length, 2 * spec.key_length, 0));
  return q;
}

void apply_output_gate(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
                       Tensor& attention) {
  const std::uint64_t length = spec.key_length;
  const Tensor both =
      DecoderMemory::rows(part.memory.joined, attention.dims()[0], 2 * layer.heads * length);
  ops::gate_into(part.backend, attention, ops::Gate::sigmoid,
                 groups_of(both, layer.heads, length, 2 * length, length), attention);
}

}  // namespace hiptool::runtime
