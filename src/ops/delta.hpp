// SPDX-License-Identifier: MIT
/// Layers with a state in place of keys and values, for the runtime: see DeltaSpec. All tensors are
/// f32 and contiguous unless stated. kernels/ops/delta.hip states the order of sums; the bits of a
/// token do not depend on how many come at a time. Each function throws Error(invalid_argument) for
/// other shapes, dtypes and devices.
#pragma once
#include <cstdint>
#include <optional>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::ops {

/// silu of the causal convolution of inputs [tokens, channels] with weights [channels x taps], to
/// `out` like the inputs. `state` has the taps - 1 inputs before them [taps - 1, channels], or
/// there are none.
void causal_convolution_into(const Backend& backend, Tensor& out, const Tensor& inputs,
                             const Tensor& weights, std::uint64_t taps,
                             const std::optional<Tensor>& state);
/// The state after these inputs; both states may be the same.
void keep_inputs_into(const Backend& backend, Tensor& state, const Tensor& inputs,
                      const std::optional<Tensor>& old_state);

/// decay and beta [tokens, heads] of a ("steps") and b ("scores") of that shape.
void delta_steps_into(const Backend& backend, Tensor& decays, Tensor& betas, const Tensor& steps,
                      const Tensor& scores, const Tensor& decay_log, const Tensor& step_bias,
                      bool has_rates);

/// What the tokens of the rule are.
struct DeltaInputs {
  Tensor q, k;           ///< [tokens, keys()], of length 1 (q: divided by the root of key_length)
  Tensor v;              ///< [tokens, values()], tokens at any distance
  Tensor decays, betas;  ///< [tokens, value_heads]
};
/// Results [tokens, values()] and the state after them, [value_heads, key_length, value_length];
/// without `old_state` it starts at 0; both may be the same.
void delta_rule_into(const Backend& backend, Tensor& out, Tensor& state, const DeltaInputs& inputs,
                     const DeltaSpec& delta, const std::optional<Tensor>& old_state);

}  // namespace hiptool::ops
