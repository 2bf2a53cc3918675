// SPDX-License-Identifier: MIT
#include "runtime/decoder_products.hpp"

#include <cstddef>
#include <optional>

#include "hiptool/ops.hpp"
#include "hiptool/ops_experts.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/shares.hpp"
#include "runtime/decoder_memory.hpp"

namespace hiptool::runtime {

ops::ProductInput input_of(const DecoderPart& part, const DecoderSpec& spec, const Tensor& x,
                           const Tensor& norm) {
  return {x,
          {&norm, spec.norm_epsilon,
           DecoderMemory::rows(part.memory.normed, x.dims()[0], spec.embedding)}};
}

Tensor normed_input(const Backend& backend, const ops::ProductInput& input) {
  if (!input.norm) return input.x;
  Tensor normed = input.norm->normed;
  ops::rmsnorm_into(backend, normed, input.x, *input.norm->weight, input.norm->epsilon);
  return normed;
}

std::vector<Tensor> products(const Backend& backend, const std::vector<ScratchProduct>& all,
                             const ops::ProductInput& input) {
  std::vector<Tensor> outs;
  for (const ScratchProduct& one : all) {
    outs.push_back(DecoderMemory::rows(one.scratch, input.x.dims()[0], one.matrix.weight.rows()));
  }
  std::vector<ops::WeightsProduct> multiplied;
  for (std::size_t i = 0; i < all.size(); ++i) {
    multiplied.push_back({&all[i].matrix.weight, &outs[i]});
  }
  ops::quantised_matmuls_into(backend, multiplied, input);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].matrix.bias) ops::row_bias_into(backend, outs[i], outs[i], *all[i].matrix.bias);
  }
  return outs;
}

Tensor product(const Backend& backend, const DeviceMatrix& matrix, const ops::ProductInput& input,
               const Tensor& scratch) {
  return products(backend, {{matrix, scratch}}, input).front();
}

void apply_gate(const Backend& backend, const DecoderSpec& spec, Tensor& gate, const Tensor& up) {
  switch (spec.gate) {
    case GateKind::silu: ops::gate_into(backend, gate, ops::Gate::silu, gate, up); break;
    case GateKind::gelu: ops::gate_into(backend, gate, ops::Gate::gelu, gate, up); break;
    case GateKind::clamped_silu:
      ops::clamped_gate_into(backend, gate, gate, up, spec.gate_limit, spec.gate_slope);
      break;
  }
}

std::optional<Tensor> gated_products(const Backend& backend, const DecoderSpec& spec,
                                     const MlpWeights& own, const DecoderMemory& memory,
                                     const ops::ProductInput& input) {
  if (own.gate.bias || own.up.bias || spec.gate == GateKind::clamped_silu) return std::nullopt;
  const std::uint64_t tokens = input.x.dims()[0];
  Tensor out = DecoderMemory::rows(memory.gate, tokens, own.gate.weight.rows());
  Tensor scratch = DecoderMemory::rows(memory.up, tokens, own.up.weight.rows());
  const ops::Gate kind = spec.gate == GateKind::silu ? ops::Gate::silu : ops::Gate::gelu;
  ops::gated_quantised_matmul_into(backend, out, kind, own.gate.weight, own.up.weight, input,
                                   scratch);
  return out;
}

void route(const Backend& backend, ops::ExpertRouting& routing, const Tensor& scores,
           const ExpertWeights& own, const ExpertsSpec& experts) {
  if (experts.has_shares()) {
    ops::route_shares_into(backend, routing, scores, own.choice_bias, experts);
  } else {
    ops::route_experts_into(backend, routing, scores, experts.is_normalised);
  }
}

void add_shared(const DecoderPart& part, const DecoderSpec& spec, const ExpertWeights& experts,
                const Tensor& inputs, Tensor& sum, const SayStage& say) {
  const DecoderMemory& memory = part.memory;
  const MlpWeights& own = *experts.shared;
  std::optional<Tensor> score;
  if (experts.shared_score) {
    score = product(part.backend, *experts.shared_score, inputs, memory.shared_score);
    say("shared_score", *score);
  }
  const std::vector<Tensor> both =
      products(part.backend, {{own.gate, memory.gate}, {own.up, memory.up}}, inputs);
  Tensor gate = both[0];
  say("shared_gate", gate);
  say("shared_up", both[1]);
  apply_gate(part.backend, spec, gate, both[1]);
  say("shared_activation", gate);
  Tensor down = product(part.backend, own.down, gate, memory.normed);
  say("shared_down", down);
  if (score) {
    const Tensor wide = score->with_layout(score->layout().broadcast_to(down.dims()));
    ops::gate_into(part.backend, down, ops::Gate::sigmoid, wide, down);
    say("shared_gated", down);
  }
  ops::add_into(part.backend, sum, sum, down);
}

}  // namespace hiptool::runtime
