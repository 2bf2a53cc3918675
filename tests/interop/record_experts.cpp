// SPDX-License-Identifier: MIT
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "for_call.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/ops_experts.hpp"
#include "interop/recorder.hpp"
#include "kernel_store/quantised_types.hpp"
#include "model/element_types.hpp"
#include "ops/shares.hpp"

namespace hiptool::test {
namespace {

constexpr std::uint64_t experts = 3;
constexpr std::uint64_t rows = 5;
constexpr std::uint64_t columns = 256;
constexpr std::uint64_t tokens = 3;
constexpr std::uint64_t used = 2;

void record_routing(Recorder& recorder) {
  for (const auto& [count, chosen] : {std::pair{7u, 3u}, std::pair{130u, 9u}}) {
    for (const bool is_normalised : {true, false}) {
      recorder.begin("route_experts " + std::to_string(chosen) + " of " + std::to_string(count) +
                         (is_normalised ? " normalised" : ""),
                     DType::f32, "packed");
      const Tensor scores = recorder.tensor(DType::f32, {tokens, count}, "packed", Data::numbers);
      ops::ExpertRouting routing{recorder.empty(DType::u32, {tokens, chosen}, "packed"),
                                 recorder.empty(DType::f32, {tokens, chosen}, "packed")};
      ops::route_experts_into(recorder.backend(), routing, scores, is_normalised);
    }
  }
}

/// Of shares: softmax and sigmoid, without and with a bias, groups and a scale; more experts than a
/// block has threads.
void record_shares(Recorder& recorder) {
  ExpertsSpec plain;
  plain.used = 3;
  plain.is_normalised = false;
  plain.scale = 2.5;
  ExpertsSpec grouped = plain;
  grouped.share = ExpertShare::sigmoid;
  grouped.is_normalised = true;
  grouped.groups = 5;
  grouped.groups_used = 2;
  grouped.group_best = 2;
  ExpertsSpec by_best;
  by_best.used = 4;
  by_best.groups = 4;
  by_best.groups_used = 3;
  by_best.scale = 16;
  for (const auto& [name, spec, count] :
       {std::tuple{"plain", plain, 7u}, std::tuple{"sigmoid, pairs of groups", grouped, 20u},
        std::tuple{"groups", by_best, 24u}, std::tuple{"many", grouped, 320u}}) {
    for (const bool has_bias : {false, true}) {
      recorder.begin(std::string("route_shares ") + name + (has_bias ? " bias" : ""), DType::f32,
                     "packed");
      std::optional<Tensor> bias;
      if (has_bias) bias = recorder.tensor(DType::f32, {count}, "packed", Data::numbers);
      const Tensor scores = recorder.tensor(DType::f32, {tokens, count}, "packed", Data::numbers);
      ops::ExpertRouting routing{recorder.empty(DType::u32, {tokens, spec.used}, "packed"),
                                 recorder.empty(DType::f32, {tokens, spec.used}, "packed")};
      ops::route_shares_into(recorder.backend(), routing, scores, bias, spec);
    }
  }
}

/// With an input for each token and for each slot, without and with a bias.
void record_products(Recorder& recorder, const std::string& name,
                     const ops::ExpertTensors& weights) {
  const Backend& backend = recorder.backend();
  recorder.follow(weights.table());
  for (const std::uint64_t inputs : {tokens, tokens * used}) {
    recorder.begin("expert_matmul " + name + " inputs " + std::to_string(inputs), DType::f32,
                   "packed");
    const Tensor x = recorder.tensor(DType::f32, {inputs, columns}, "packed", Data::numbers);
    const Tensor ids = recorder.ids(DType::u32, {tokens, used}, "packed", experts);
    Tensor out = recorder.empty(DType::f32, {tokens * used, rows}, "packed");
    if (inputs == tokens) {
      ops::expert_matmul_into(backend, out, weights, ids, x);
    } else {
      const ops::ExpertBias bias{
          recorder.tensor(DType::f32, {experts, 2 * rows}, "packed", Data::numbers), 1, 2};
      ops::expert_matmul_into(backend, out, weights, ids, x, &bias);
    }
    backend.synchronize();
  }
}

void record_all_weights(Recorder& recorder) {
  const Backend& backend = recorder.backend();
  for (const auto& type : kernel_store::quantised_types) {
    const std::string name(type.name);
    recorder.begin("expert weights " + name, DType::u8, "packed");
    const std::uint64_t row_bytes = columns / type.values * type.bytes;
    const Tensor blocks = recorder.tensor(DType::u8, {experts * rows * row_bytes}, "packed");
    const ElementType element(model::find_gguf_type(type.id)->entry);
    const ops::QuantisedTensor all(blocks.buffer(), element, experts * rows, columns);
    record_products(recorder, name, ops::ExpertTensors(backend, {all}, experts));
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::string name(to_string(dtype));
    recorder.begin("expert weights", dtype, "packed");
    std::vector<ops::QuantisedTensor> apart;
    for (std::uint64_t expert = 0; expert < experts; ++expert) {
      apart.emplace_back(recorder.tensor(dtype, {rows, columns}, "packed", Data::numbers));
    }
    record_products(recorder, name + " apart", ops::ExpertTensors(backend, apart, experts));
  }
  recorder.begin("expert weights packed", DType::u8, "packed");
  const std::uint64_t codes = experts * 2 * rows * columns / 2;
  const Tensor halves = recorder.tensor(DType::u8, {codes}, "packed");
  const Tensor exponents = recorder.ids(DType::u8, {codes / 16}, "packed", 255);
  const ops::ExpertTensors::Packed packed{
      halves.buffer(), exponents.buffer(), experts, rows, columns, 1, 2};
  record_products(recorder, "packed", ops::ExpertTensors(backend, packed));
}

}  // namespace

void record_all_experts(Recorder& recorder) {
  const Backend& backend = recorder.backend();
  record_routing(recorder);
  record_shares(recorder);
  record_all_weights(recorder);
  recorder.begin("clamped_gate", DType::f32, "packed");
  const Tensor gates = recorder.tensor(DType::f32, {tokens, 37}, "packed");
  const Tensor up = recorder.tensor(DType::f32, {tokens, 37}, "packed");
  ops::clamped_gate_into(backend, for_call(recorder.empty(DType::f32, {tokens, 37}, "packed")),
                         gates, up, 7, 1.702);
  recorder.begin("add_experts", DType::f32, "packed");
  const Tensor slots = recorder.tensor(DType::f32, {tokens * used, 45}, "packed", Data::numbers);
  const Tensor weights = recorder.tensor(DType::f32, {tokens, used}, "packed", Data::numbers);
  ops::add_experts_into(backend, for_call(recorder.empty(DType::f32, {tokens, 45}, "packed")),
                        slots, weights);
  backend.synchronize();
}

}  // namespace hiptool::test
