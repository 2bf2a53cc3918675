// SPDX-License-Identifier: MIT
// Reductions, operations of models, attention and rotary embeddings.
#include <array>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

void call_reductions(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  const std::array<std::size_t, 1> first{0};
  const std::array<std::size_t, 2> odd{0, most};
  hostile.each("hiptool::ops::reduce",
               [&](const Tensor& x) { (void)ops::reduce(on, ops::Reduce::argmax, x, first); });
  hostile.each("hiptool::ops::reduce",
               [&](const Tensor& x) { (void)ops::reduce(on, ops::Reduce::sum, x, odd); });
  hostile.each("hiptool::ops::reduce", [&](const Tensor& x) {
    (void)ops::reduce(on, wrong<ops::Reduce>(), x, first, true);
  });
  hostile.into("hiptool::ops::reduce_into",
               [&](Tensor& to) { ops::reduce_into(on, to, ops::Reduce::sum, good, first); });
  hostile.call("hiptool::ops::reduce_into",
               [&] { ops::reduce_into(on, hostile.out, wrong<ops::Reduce>(), good, first); });
}

void call_norms(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  const std::string name = "hiptool::ops::";
  for (const std::size_t axis : {ops::last_axis, std::size_t{7}}) {
    hostile.each(name + "softmax", [&](const Tensor& x) { (void)ops::softmax(on, x, axis); });
    hostile.into(name + "softmax_into", [&](Tensor& to) { ops::softmax_into(on, to, good, axis); });
    hostile.each(name + "log_softmax",
                 [&](const Tensor& x) { (void)ops::log_softmax(on, x, axis); });
    hostile.into(name + "log_softmax_into",
                 [&](Tensor& to) { ops::log_softmax_into(on, to, good, axis); });
  }
  hostile.each(name + "layernorm",
               [&](const Tensor& x) { (void)ops::layernorm(on, x, x, x, nan); });
  hostile.each(name + "layernorm", [&](const Tensor& x) { (void)ops::layernorm(on, good, x, -1); });
  hostile.into(name + "layernorm_into",
               [&](Tensor& to) { ops::layernorm_into(on, to, good, good, good, nan); });
  hostile.into(name + "layernorm_into",
               [&](Tensor& to) { ops::layernorm_into(on, to, good, good, nan); });
  hostile.each(name + "rmsnorm", [&](const Tensor& x) { (void)ops::rmsnorm(on, x, good, -1); });
  hostile.into(name + "rmsnorm_into",
               [&](Tensor& to) { ops::rmsnorm_into(on, to, good, hostile.ids, nan); });
  hostile.each(name + "gate",
               [&](const Tensor& x) { (void)ops::gate(on, ops::Gate::silu, x, good); });
  hostile.into(name + "gate_into",
               [&](Tensor& to) { ops::gate_into(on, to, wrong<ops::Gate>(), good, good); });
}

void call_rotations(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  hostile.each("hiptool::ops::rope",
               [&](const Tensor& x) { (void)ops::rope(on, x, good, good, RopePairs::halves); });
  hostile.each("hiptool::ops::rope",
               [&](const Tensor& x) { (void)ops::rope(on, good, x, x, wrong<RopePairs>()); });
  hostile.into("hiptool::ops::rope_into", [&](Tensor& to) {
    ops::rope_into(on, to, good, good, good, RopePairs::neighbours);
  });
  for (const std::uint64_t rotary : {std::uint64_t{1} << 40, most, std::uint64_t{0}}) {
    hostile.call("hiptool::ops::rope_frequencies", [&] {
      ops::RopeOptions options;
      options.rotary = rotary;
      (void)ops::rope_frequencies(options);
    });
  }
  hostile.call("hiptool::ops::yarn_magnitude", [] { (void)ops::yarn_magnitude(nan); });
  hostile.call("hiptool::ops::longrope_magnitude", [] { (void)ops::longrope_magnitude(nan, -1); });
  const Tensor frequencies = on.zeros(DType::f64, {2});
  hostile.each("hiptool::ops::rope_tables",
               [&](const Tensor& x) { (void)ops::rope_tables(on, x, most, most, nan); });
  hostile.call("hiptool::ops::rope_tables",
               [&] { (void)ops::rope_tables(on, frequencies, most, huge, nan); });
  hostile.each("hiptool::ops::rope_tables",
               [&](const Tensor& x) { (void)ops::rope_tables(on, frequencies, x, nan); });
}

void call_attention(Hostile& hostile) {
  const Backend& on = hostile.backend;
  hostile.call("hiptool::ops::make_kv_cache",
               [&] { (void)ops::make_kv_cache(on, huge, huge, huge, huge); });
  ops::KVCache cache = ops::make_kv_cache(on, 8, 2, 4, 4);
  const Tensor rows = on.zeros(DType::f32, {2, 2, 4});
  ops::KVCache moved = ops::make_kv_cache(on, 8, 2, 4, 4);
  const ops::KVCache taken = std::move(moved);
  for (ops::KVCache* each : {&cache, &moved}) {
    hostile.each("hiptool::ops::kv_append",
                 [&](const Tensor& x) { ops::kv_append(on, *each, x, rows, most); });
    hostile.call("hiptool::ops::kv_append", [&] { ops::kv_append(on, *each, rows, rows, most); });
    ops::AttentionOptions options;
    options.first_position = most;
    options.window = 0;
    options.softcap = nan;
    hostile.each("hiptool::ops::attention",
                 [&](const Tensor& x) { (void)ops::attention(on, x, *each); });
    hostile.call("hiptool::ops::attention",
                 [&] { (void)ops::attention(on, rows, *each, options); });
    hostile.into("hiptool::ops::attention_into",
                 [&](Tensor& to) { ops::attention_into(on, to, rows, *each, options); });
    hostile.into("hiptool::ops::attention_into",
                 [&](Tensor& to) { ops::attention_into(on, to, rows, *each); });
  }
}

void call_experts(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const std::string name = "hiptool::ops::ExpertTensors::";
  const ops::QuantisedTensor matrix(hostile.good);
  hostile.call(name + "ExpertTensors", [&] { const ops::ExpertTensors made(on, {}, most); });
  hostile.call(name + "ExpertTensors", [&] { const ops::ExpertTensors made(on, {matrix}, 0); });
  hostile.call(name + "ExpertTensors", [&] {
    const ops::ExpertTensors made(on, {Buffer(), Buffer(), most, most, most, most, most});
  });
  hostile.call(name + "ExpertTensors", [&] {
    const ops::ExpertTensors made(
        on, {Buffer(hostile.device, 64), Buffer(hostile.device, 64), 2, most, 32, 0, 1});
  });
  ops::ExpertTensors good(on, {matrix}, 1);
  ops::ExpertTensors moved(on, {matrix}, 1);
  const ops::ExpertTensors taken = std::move(moved);
  for (const ops::ExpertTensors* each : {&good, &moved}) {
    hostile.each("hiptool::ops::expert_matmul", [&](const Tensor& x) {
      (void)ops::expert_matmul(on, *each, x, hostile.good);
      const ops::ExpertBias bias{x, most, 0};
      (void)ops::expert_matmul(on, *each, hostile.ids, x, &bias);
    });
    hostile.into("hiptool::ops::expert_matmul_into", [&](Tensor& to) {
      ops::expert_matmul_into(on, to, *each, hostile.ids, hostile.good);
    });
  }
  hostile.each("hiptool::ops::route_experts",
               [&](const Tensor& x) { (void)ops::route_experts(on, x, most, true); });
  hostile.into("hiptool::ops::route_experts_into", [&](Tensor& to) {
    ops::ExpertRouting routing{to, to};
    ops::route_experts_into(on, routing, hostile.good, true);
  });
  hostile.each("hiptool::ops::add_experts",
               [&](const Tensor& x) { (void)ops::add_experts(on, x, hostile.good); });
  hostile.into("hiptool::ops::add_experts_into",
               [&](Tensor& to) { ops::add_experts_into(on, to, hostile.good, hostile.good); });
  hostile.each("hiptool::ops::clamped_gate",
               [&](const Tensor& x) { (void)ops::clamped_gate(on, x, hostile.good, nan, nan); });
  hostile.into("hiptool::ops::clamped_gate_into", [&](Tensor& to) {
    ops::clamped_gate_into(on, to, hostile.good, hostile.good, 7, 1);
  });
}

void call_quantised(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const std::string name = "hiptool::ops::QuantisedTensor::";
  const ElementType f32 = hostile.model.tensors().front().type;
  constexpr ElementType::Entry odd_entry{"odd", 7, 0};
  const ElementType odd(odd_entry);
  hostile.call(name + "require_type", [&] { ops::QuantisedTensor::require_type(odd); });
  hostile.call(name + "QuantisedTensor", [&] { const ops::QuantisedTensor made({}, f32, 1, 1); });
  hostile.call(name + "QuantisedTensor", [&] {
    const ops::QuantisedTensor made(Buffer(hostile.device, 64), f32, huge, huge);
  });
  hostile.each(name + "QuantisedTensor",
               [](const Tensor& x) { const ops::QuantisedTensor made(x); });
  ops::QuantisedTensor good(hostile.good);
  ops::QuantisedTensor moved(hostile.good);
  const ops::QuantisedTensor taken = std::move(moved);
  const std::vector<std::uint32_t> wrong_ids{0xFFFFFFFE};
  for (const ops::QuantisedTensor* each : {&good, &moved}) {
    hostile.each("hiptool::ops::quantised_matmul",
                 [&](const Tensor& x) { (void)ops::quantised_matmul(on, *each, x); });
    hostile.into("hiptool::ops::quantised_matmul_into",
                 [&](Tensor& to) { ops::quantised_matmul_into(on, to, *each, hostile.good); });
    hostile.call("hiptool::ops::embedding_rows",
                 [&] { (void)ops::embedding_rows(on, *each, wrong_ids); });
    hostile.each("hiptool::ops::embedding_rows",
                 [&](const Tensor& x) { (void)ops::embedding_rows(on, *each, x); });
    hostile.into("hiptool::ops::embedding_rows_into",
                 [&](Tensor& to) { ops::embedding_rows_into(on, to, *each, hostile.ids); });
  }
}

}  // namespace

void call_rows(Hostile& hostile) {
  call_reductions(hostile);
  call_norms(hostile);
  call_rotations(hostile);
  call_attention(hostile);
  call_quantised(hostile);
  call_experts(hostile);
}

}  // namespace hiptool::test
