// SPDX-License-Identifier: MIT
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "for_call.hpp"
#include "hiptool/decoder_spec.hpp"
#include "interop/recorder.hpp"
#include "ops/delta.hpp"

namespace hiptool::test {
namespace {

enum class OldState { none, apart, in_place };
constexpr OldState old_states[]{OldState::none, OldState::apart, OldState::in_place};
constexpr std::uint64_t token_counts[]{1, 3};

std::string delta_label(const std::string& name, std::uint64_t tokens, OldState old) {
  return name + " tokens " + std::to_string(tokens) +
         (old == OldState::none    ? ""
          : old == OldState::apart ? " after a state"
                                   : " in place of a state");
}

/// The new state and the one before it.
std::pair<Tensor, std::optional<Tensor>> delta_states(Recorder& recorder, const Dims& dims,
                                                      OldState old, Data data) {
  if (old == OldState::none) return {recorder.empty(DType::f32, dims, "packed"), std::nullopt};
  const Tensor before = recorder.tensor(DType::f32, dims, "packed", data);
  return {old == OldState::in_place ? before : recorder.empty(DType::f32, dims, "packed"), before};
}

/// With more taps than tokens too, whose states keep inputs of the state before.
void record_convolutions(Recorder& recorder, std::uint64_t channels, std::uint64_t taps,
                         std::uint64_t tokens, OldState old) {
  const Backend& backend = recorder.backend();
  const std::string shape = std::to_string(channels) + " x " + std::to_string(taps);
  for (const Data data : {Data::numbers, Data::any_bits}) {
    const std::string kind = data == Data::numbers ? " numbers" : " any bits";
    recorder.begin(delta_label("causal_convolution " + shape + kind, tokens, old), DType::f32,
                   "packed");
    const Tensor inputs = recorder.tensor(DType::f32, {tokens, channels}, "packed", data);
    const Tensor weights = recorder.tensor(DType::f32, {channels * taps}, "packed", data);
    auto [state, before] = delta_states(recorder, {taps - 1, channels}, old, data);
    ops::causal_convolution_into(backend,
                                 for_call(recorder.empty(DType::f32, {tokens, channels}, "packed")),
                                 inputs, weights, taps, before);
    recorder.begin(delta_label("keep_inputs " + shape + kind, tokens, old), DType::f32, "packed");
    ops::keep_inputs_into(backend, state, inputs, before);
    backend.synchronize();
  }
}

void record_delta_steps(Recorder& recorder, const Dims& dims, Data data) {
  for (const bool has_rates : {false, true}) {
    recorder.begin("delta_steps " + std::to_string(dims[0]) + " x " + std::to_string(dims[1]) +
                       (data == Data::numbers ? " numbers" : " any bits") +
                       (has_rates ? " rates" : ""),
                   DType::f32, "packed");
    const auto tensor = [&](const Dims& of) {
      return recorder.tensor(DType::f32, of, "packed", data);
    };
    const Tensor steps = tensor(dims);
    const Tensor scores = tensor(dims);
    const Tensor decay_log = tensor({dims[1]});
    const Tensor step_bias = tensor({dims[1]});
    ops::delta_steps_into(recorder.backend(), for_call(recorder.empty(DType::f32, dims, "packed")),
                          for_call(recorder.empty(DType::f32, dims, "packed")), steps, scores,
                          decay_log, step_bias, has_rates);
  }
}

/// Whose v has further elements in front of each token's.
void record_rule(Recorder& recorder, const DeltaSpec& delta, std::uint64_t tokens, OldState old) {
  constexpr std::uint64_t further = 3;
  const Backend& backend = recorder.backend();
  recorder.begin(
      delta_label("delta_rule " + std::to_string(delta.key_heads) + " of " +
                      std::to_string(delta.value_heads) + (delta.is_tiled ? " tiled " : " ") +
                      std::to_string(delta.key_length) + " x " + std::to_string(delta.value_length),
                  tokens, old),
      DType::f32, "packed");
  const auto numbers = [&](const Dims& dims) {
    return recorder.tensor(DType::f32, dims, "packed", Data::numbers);
  };
  const Tensor wide = numbers({tokens, delta.values() + further});
  const ops::DeltaInputs inputs{numbers({tokens, delta.keys()}), numbers({tokens, delta.keys()}),
                                wide.with_layout(wide.layout().narrow(1, further, delta.values())),
                                numbers({tokens, delta.value_heads}),
                                numbers({tokens, delta.value_heads})};
  auto [state, before] = delta_states(
      recorder, {delta.value_heads, delta.key_length, delta.value_length}, old, Data::numbers);
  ops::delta_rule_into(backend,
                       for_call(recorder.empty(DType::f32, {tokens, delta.values()}, "packed")),
                       state, inputs, delta, before);
  backend.synchronize();
}

DeltaSpec delta_heads(std::uint64_t key_heads, std::uint64_t value_heads, std::uint64_t key_length,
                      std::uint64_t value_length, bool is_tiled = false) {
  DeltaSpec delta;
  delta.key_heads = key_heads;
  delta.value_heads = value_heads;
  delta.key_length = key_length;
  delta.value_length = value_length;
  delta.is_tiled = is_tiled;
  return delta;
}

}  // namespace

void record_all_delta(Recorder& recorder) {
  for (const std::uint64_t tokens : token_counts) {
    for (const OldState old : old_states) {
      record_convolutions(recorder, 5, 2, tokens, old);
      record_convolutions(recorder, 131, 9, tokens, old);
      for (const DeltaSpec& delta :
           {delta_heads(1, 1, 1, 1), delta_heads(2, 6, 5, 7), delta_heads(2, 6, 5, 7, true),
            delta_heads(3, 3, 16, 11), delta_heads(1, 2, 128, 65)}) {
        record_rule(recorder, delta, tokens, old);
      }
    }
    for (const Data data : {Data::numbers, Data::any_bits}) {
      record_delta_steps(recorder, {tokens, 3}, data);
      record_delta_steps(recorder, {tokens, 67}, data);
    }
  }
  recorder.backend().synchronize();
}

}  // namespace hiptool::test
