// SPDX-License-Identifier: MIT
// Layers with a state in place of keys and values, see DeltaSpec, in f32. Tokens follow each other,
// so that results do not depend on how many come at a time; each sum is made by one thread:
// * a convolution adds the taps from the oldest token on, each by a fused multiply-add, and starts
//   at 0;
// * decay = e^(-(e^log x softplus(a + bias))), softplus(x) = max(x, 0) + log(1 + e^-|x|);
// * in a column of a state each sum over the keys begins with the first one, by fused
//   multiply-adds. An element is first multiplied by the decay, then gets key x change by one more.
#include <hip/hip_runtime.h>

#include "hiptool_delta.h"
#include "hiptool_device.h"
#include "hiptool_math.h"

using namespace hiptool_device;

namespace hiptool_ops {

inline __device__ uint64_t delta_thread() {
  return static_cast<uint64_t>(blockIdx.x) * delta_threads + threadIdx.x;
}

inline __device__ void convolve(const CausalConvolution& all, const float* inputs,
                                const float* weights, const float* state, float* out) {
  const uint64_t count = all.tokens * all.channels;
  const uint64_t before = all.taps - 1;
  for (uint64_t at = delta_thread(); at < count;
       at += static_cast<uint64_t>(gridDim.x) * delta_threads) {
    const uint64_t token = at / all.channels;
    const uint64_t channel = at % all.channels;
    float sum = 0;
    for (uint64_t tap = 0; tap < all.taps; ++tap) {
      const uint64_t place = token + tap;  // among those of the state and of the tokens
      float value = 0;
      if (place >= before) {
        value = inputs[(place - before) * all.channels + channel];
      } else if (all.has_state != 0) {
        value = state[place * all.channels + channel];
      }
      sum = hiptool_math::fused(weights[channel * all.taps + tap], value, sum);
    }
    out[at] = canonical(hiptool_math::silu(sum));
  }
}

// The last inputs, oldest first. Both states may be the same.
inline __device__ void keep_inputs(const CausalConvolution& all, const float* inputs,
                                   const float* old_state, float* state) {
  const uint64_t before = all.taps - 1;
  for (uint64_t channel = delta_thread(); channel < all.channels;
       channel += static_cast<uint64_t>(gridDim.x) * delta_threads) {
    for (uint64_t i = 0; i < before; ++i) {
      const uint64_t place = all.tokens + i;
      float value = 0;
      if (place >= before) {
        value = inputs[(place - before) * all.channels + channel];
      } else if (all.has_state != 0) {
        value = old_state[place * all.channels + channel];
      }
      state[i * all.channels + channel] = value;
    }
  }
}

inline __device__ float softplus(float x) {
  // log(1 + t) of a small t by the rounding of 1 + t (Higham, Accuracy and Stability, 1.14.1).
  const float t = hiptool_math::exponential(-hiptool_math::absolute(x));
  const float sum = 1.0F + t;
  const float rounded = sum - 1.0F;
  const float log = rounded == 0 ? t : hiptool_math::logarithm(sum) * (t / rounded);
  return x > 0 ? x + log : log;
}

inline __device__ void find_steps(const DeltaSteps& all, const float* steps, const float* scores,
                                  const float* decay_log, const float* bias, float* decays,
                                  float* betas) {
  for (uint64_t at = delta_thread(); at < all.count;
       at += static_cast<uint64_t>(gridDim.x) * delta_threads) {
    const uint64_t head = at % all.heads;
    const float x = steps[at] + bias[head];
    const float factor =
        all.has_rates != 0 ? -decay_log[head] : hiptool_math::exponential(decay_log[head]);
    const float rate = x != x ? x : factor * softplus(x);
    decays[at] = canonical(hiptool_math::exponential(-rate));
    betas[at] = canonical(hiptool_math::sigmoid(scores[at]));
  }
}

// A thread has a column of a state.
inline __device__ void follow_delta_rule(const DeltaRule& all, const float* q, const float* k,
                                         const float* v, const float* decays, const float* betas,
                                         const float* old_state, float* state, float* out) {
  const uint64_t columns = static_cast<uint64_t>(all.value_heads) * all.value_length;
  const uint64_t row = all.value_length;
  const uint64_t keys = static_cast<uint64_t>(all.key_heads) * all.key_length;
  for (uint64_t column = delta_thread(); column < columns;
       column += static_cast<uint64_t>(gridDim.x) * delta_threads) {
    const uint64_t head = column / row;
    const uint64_t first = head * all.key_length * row + column % row;
    const uint64_t key_head =
        all.is_tiled != 0 ? head % all.key_heads : head / (all.value_heads / all.key_heads);
    const uint64_t key_at = key_head * all.key_length;
    float* const own = state + first;
    if (all.has_state == 0) {
      for (unsigned i = 0; i < all.key_length; ++i) own[i * row] = 0;
    } else if (old_state != state) {
      for (unsigned i = 0; i < all.key_length; ++i) own[i * row] = old_state[first + i * row];
    }
    for (uint64_t token = 0; token < all.tokens; ++token) {
      const float* const key = k + token * keys + key_at;
      const float* const query = q + token * keys + key_at;
      const float decay = decays[token * all.value_heads + head];
      float known = 0;
      for (unsigned i = 0; i < all.key_length; ++i) {
        const float kept = decay * own[i * row];
        own[i * row] = kept;
        known = hiptool_math::fused(kept, key[i], known);
      }
      const float beta = betas[token * all.value_heads + head];
      const float change = beta * (v[token * all.v_stride + column] - known);
      float sum = 0;
      for (unsigned i = 0; i < all.key_length; ++i) {
        const float element = hiptool_math::fused(key[i], change, own[i * row]);
        own[i * row] = element;
        sum = hiptool_math::fused(element, query[i], sum);
      }
      out[token * columns + column] = canonical(sum);
    }
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(64)
    hiptool_causal_convolution(hiptool_ops::CausalConvolution all, const float* inputs,
                               const float* weights, const float* state, float* out) {
  hiptool_ops::convolve(all, inputs, weights, state, out);
}
HIPTOOL_EXPORT(hiptool_causal_convolution);

extern "C" __global__ void __launch_bounds__(64)
    hiptool_keep_inputs(hiptool_ops::CausalConvolution all, const float* inputs,
                        const float* old_state, float* state) {
  hiptool_ops::keep_inputs(all, inputs, old_state, state);
}
HIPTOOL_EXPORT(hiptool_keep_inputs);

extern "C" __global__ void __launch_bounds__(64)
    hiptool_delta_steps(hiptool_ops::DeltaSteps all, const float* steps, const float* scores,
                        const float* decay_log, const float* bias, float* decays, float* betas) {
  hiptool_ops::find_steps(all, steps, scores, decay_log, bias, decays, betas);
}
HIPTOOL_EXPORT(hiptool_delta_steps);

extern "C" __global__ void __launch_bounds__(64)
    hiptool_delta_rule(hiptool_ops::DeltaRule all, const float* q, const float* k, const float* v,
                       const float* decays, const float* betas, const float* old_state,
                       float* state, float* out) {
  hiptool_ops::follow_delta_rule(all, q, k, v, decays, betas, old_state, state, out);
}
HIPTOOL_EXPORT(hiptool_delta_rule);
