// SPDX-License-Identifier: MIT
#include "ops/delta.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ops/backend_state.hpp"
#include "ops/layers.hpp"
#include "ops/rows.hpp"

// Shared with the kernels.
#include <hiptool_delta.h>

namespace hiptool::ops {
namespace {

constexpr std::string_view convolution_name = "causal_convolution";
constexpr std::string_view steps_name = "delta_steps";
constexpr std::string_view rule_name = "delta_rule";

void require_delta_shape(const Backend& backend, std::string_view operation, const Tensor& tensor,
                         std::initializer_list<std::uint64_t> dims, bool has_apart_rows = false) {
  require_device(backend, operation, std::array<const Tensor*, 1>{&tensor});
  const bool is_packed =
      tensor.layout().is_contiguous() ||
      (has_apart_rows && tensor.layout().rank() == 2 && tensor.layout().strides()[1] == 1);
  if (tensor.dtype() == DType::f32 && is_packed &&
      std::ranges::equal(tensor.dims(), std::span(dims.begin(), dims.size()))) {
    return;
  }
  refuse(operation,
         describe(tensor) + " is not contiguous f32 " + list_of(std::vector<std::uint64_t>(dims)));
}

LaunchConfig threads_for(std::uint64_t count) {
  LaunchConfig config;
  const std::uint64_t blocks = ceil_divide(count, hiptool_ops::delta_threads);
  config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, 0x7FFFFFFF));
  config.block.x = hiptool_ops::delta_threads;
  return config;
}

void* state_address(const std::optional<Tensor>& tensor) {
  return tensor ? static_cast<void*>(tensor->address()) : nullptr;
}

hiptool_ops::CausalConvolution convolution_of(const Backend& backend, const Tensor& inputs,
                                              std::uint64_t taps,
                                              const std::optional<Tensor>& state) {
  if (inputs.layout().rank() != 2 || taps == 0) {
    refuse(convolution_name, describe(inputs) + " is not of rank 2, or there are no taps");
  }
  const std::uint64_t channels = inputs.dims()[1];
  require_delta_shape(backend, convolution_name, inputs, {inputs.dims()[0], channels});
  if (state) require_delta_shape(backend, convolution_name, *state, {taps - 1, channels});
  hiptool_ops::CausalConvolution all{};
  all.tokens = inputs.dims()[0];
  all.channels = channels;
  all.taps = static_cast<std::uint32_t>(taps);
  all.has_state = state ? 1 : 0;
  return all;
}

}  // namespace

void causal_convolution_into(const Backend& backend, Tensor& out, const Tensor& inputs,
                             const Tensor& weights, std::uint64_t taps,
                             const std::optional<Tensor>& state) {
  const hiptool_ops::CausalConvolution all = convolution_of(backend, inputs, taps, state);
  require_delta_shape(backend, convolution_name, weights, {all.channels * taps});
  require_delta_shape(backend, convolution_name, out, {all.tokens, all.channels});
  require_separate(convolution_name, std::array<const Tensor*, 1>{&inputs}, out);
  if (out.element_count() == 0) return;
  launch(state_of(backend).kernel("ops_delta", "hiptool_causal_convolution"),
         threads_for(out.element_count()), backend.stream(), all, inputs.address(),
         weights.address(), state_address(state), out.address());
}

void keep_inputs_into(const Backend& backend, Tensor& state, const Tensor& inputs,
                      const std::optional<Tensor>& old_state) {
  const std::uint64_t taps = state.dims()[0] + 1;
  const hiptool_ops::CausalConvolution all = convolution_of(backend, inputs, taps, old_state);
  require_delta_shape(backend, convolution_name, state, {taps - 1, all.channels});
  if (state.element_count() == 0) return;
  launch(state_of(backend).kernel("ops_delta", "hiptool_keep_inputs"), threads_for(all.channels),
         backend.stream(), all, inputs.address(), state_address(old_state), state.address());
}

void delta_steps_into(const Backend& backend, Tensor& decays, Tensor& betas, const Tensor& steps,
                      const Tensor& scores, const Tensor& decay_log, const Tensor& step_bias,
                      bool has_rates) {
  if (steps.layout().rank() != 2) refuse(steps_name, describe(steps) + " is not of rank 2");
  const std::uint64_t tokens = steps.dims()[0];
  const std::uint64_t heads = steps.dims()[1];
  for (const Tensor* tensor : std::array<const Tensor*, 4>{&steps, &scores, &decays, &betas}) {
    require_delta_shape(backend, steps_name, *tensor, {tokens, heads});
  }
  for (const Tensor* tensor : {&decay_log, &step_bias}) {
    require_delta_shape(backend, steps_name, *tensor, {heads});
  }
  if (steps.element_count() == 0) return;
  const hiptool_ops::DeltaSteps all{steps.element_count(), static_cast<std::uint32_t>(heads),
                                    has_rates ? 1u : 0u};
  launch(state_of(backend).kernel("ops_delta", "hiptool_delta_steps"), threads_for(all.count),
         backend.stream(), all, steps.address(), scores.address(), decay_log.address(),
         step_bias.address(), decays.address(), betas.address());
}

void delta_rule_into(const Backend& backend, Tensor& out, Tensor& state, const DeltaInputs& inputs,
                     const DeltaSpec& delta, const std::optional<Tensor>& old_state) {
  if (inputs.q.layout().rank() != 2 || delta.key_heads == 0 ||
      delta.value_heads % delta.key_heads != 0) {
    refuse(rule_name, describe(inputs.q) + " is not of rank 2, or heads do not fit");
  }
  const std::uint64_t tokens = inputs.q.dims()[0];
  for (const Tensor* tensor : {&inputs.q, &inputs.k}) {
    require_delta_shape(backend, rule_name, *tensor, {tokens, delta.keys()});
  }
  for (const Tensor* tensor : {&inputs.decays, &inputs.betas}) {
    require_delta_shape(backend, rule_name, *tensor, {tokens, delta.value_heads});
  }
  require_delta_shape(backend, rule_name, inputs.v, {tokens, delta.values()}, true);
  require_delta_shape(backend, rule_name, out, {tokens, delta.values()});
  require_delta_shape(backend, rule_name, state,
                      {delta.value_heads, delta.key_length, delta.value_length});
  if (old_state) {
    require_delta_shape(backend, rule_name, *old_state,
                        {delta.value_heads, delta.key_length, delta.value_length});
  }
  if (tokens == 0) return;
  hiptool_ops::DeltaRule all{};
  all.tokens = tokens;
  all.v_stride = inputs.v.layout().strides()[0];
  all.key_heads = static_cast<std::uint32_t>(delta.key_heads);
  all.value_heads = static_cast<std::uint32_t>(delta.value_heads);
  all.key_length = static_cast<std::uint32_t>(delta.key_length);
  all.value_length = static_cast<std::uint32_t>(delta.value_length);
  all.has_state = old_state ? 1 : 0;
  all.is_tiled = delta.is_tiled ? 1 : 0;
  launch(state_of(backend).kernel("ops_delta", "hiptool_delta_rule"), threads_for(delta.values()),
         backend.stream(), all, inputs.q.address(), inputs.k.address(), inputs.v.address(),
         inputs.decays.address(), inputs.betas.address(), state_address(old_state), state.address(),
         out.address());
}

}  // namespace hiptool::ops
