// SPDX-License-Identifier: MIT
// Rotary position embeddings and gated activations.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_layers.h"
#include "hiptool_math.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

// Pairs of elements: (2i, 2i + 1) as neighbours in one piece, or each apart from the other.
template <unsigned length, class Stored>
__forceinline__ __device__ void load_pairs(const Rotation& all, const Stored* in, uint64_t place,
                                           Stored* first, Stored* second) {
  if ((all.in_pieces & 1U) != 0) {
    Stored both[2 * length];
    load_piece<2 * length>(in + place, both);
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      first[k] = both[2 * k];
      second[k] = both[2 * k + 1];
    }
    return;
  }
  load_run<length>(all.pairs, 0, in, place, first);
  load_run<length>(all.pairs, 0, in + all.input_step, place, second);
}
template <unsigned length, class Stored>
__forceinline__ __device__ void store_pairs(const Rotation& all, Stored* out, uint64_t place,
                                            const Stored* first, const Stored* second) {
  if ((all.in_pieces & 2U) != 0) {
    Stored both[2 * length];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      both[2 * k] = first[k];
      both[2 * k + 1] = second[k];
    }
    store_piece<2 * length>(out + place, both);
    return;
  }
  store_run<length>(all.pairs, 3, out, place, first);
  store_run<length>(all.pairs, 3, out + all.output_step, place, second);
}

template <unsigned length, class Stored>
__forceinline__ __device__ void rotate_runs(const Rotation& all, const Stored* in,
                                            const float* cosines, const float* sines, Stored* out) {
  using Value = typename Element<Stored>::Value;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  for (uint64_t i = hiptool_device::first_unit() * length; i < all.pairs.count; i += stride) {
    uint64_t places[4];
    find_places(all.pairs, i, places);
    Stored first[length];
    Stored second[length];
    float cosine[length];
    float sine[length];
    load_pairs<length>(all, in, places[0], first, second);
    load_run<length>(all.pairs, 1, cosines, places[1], cosine);
    load_run<length>(all.pairs, 2, sines, places[2], sine);
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      const Value x = Element<Stored>::widen(first[k]);
      const Value y = Element<Stored>::widen(second[k]);
      const Value c = static_cast<Value>(cosine[k]);
      const Value s = static_cast<Value>(sine[k]);
      first[k] = Element<Stored>::narrow(x * c - y * s);
      second[k] = Element<Stored>::narrow(x * s + y * c);
    }
    store_pairs<length>(all, out, places[3], first, second);
  }
}

template <class Stored>
__forceinline__ __device__ void rotate(const Rotation& all, const Stored* in, const float* cosines,
                                       const float* sines, Stored* out) {
  if (all.pairs.run == 1) {
    rotate_runs<1>(all, in, cosines, sines, out);
  } else {
    rotate_runs<Run<Stored>::length>(all, in, cosines, sines, out);
  }
}

// The elements after the rotated ones stay as they are, bit for bit.
template <class Stored>
__forceinline__ __device__ void copy_rest(const Operands<2>& all, const Stored* in, Stored* out) {
  const uint64_t stride = hiptool_device::unit_stride();
  for (uint64_t i = hiptool_device::first_unit(); i < all.count; i += stride) {
    uint64_t places[2];
    find_places(all, i, places);
    out[places[1]] = in[places[0]];
  }
}

// Angles in f64: for long contexts f32 would keep few of an angle's digits.
inline __device__ void make_tables(const RopeTable& all, const double* frequencies,
                                   const uint32_t* positions, float* cosines, float* sines) {
  const uint64_t stride = hiptool_device::unit_stride();
  for (uint64_t i = hiptool_device::first_unit(); i < all.tokens * all.pairs; i += stride) {
    const uint64_t token = i / all.pairs;
    const uint64_t position =
        positions != nullptr ? positions[token * all.position_stride] : all.first + token;
    const double angle =
        static_cast<double>(position) * frequencies[i % all.pairs * all.frequency_stride];
    cosines[i] = hiptool_device::to_f32(hiptool_math::cosine(angle) * all.magnitude);
    sines[i] = hiptool_device::to_f32(hiptool_math::sine(angle) * all.magnitude);
  }
}

template <class Value>
__forceinline__ __device__ Value activation(GateKind kind, Value x) {
  switch (kind) {
    case GateKind::silu: return hiptool_math::silu(x);
    case GateKind::gelu: return hiptool_math::gelu_tanh(x);
    case GateKind::gelu_erf: return hiptool_math::gelu(x);
    case GateKind::relu: return x <= 0 ? 0 : x;
    default: return hiptool_math::sigmoid(x);
  }
}

template <unsigned length, class Stored>
__forceinline__ __device__ void gate_runs(GateKind kind, const Operands<3>& all,
                                          const Stored* gates, const Stored* values, Stored* out) {
  using Value = typename Element<Stored>::Value;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  for (uint64_t i = hiptool_device::first_unit() * length; i < all.count; i += stride) {
    uint64_t places[3];
    find_places(all, i, places);
    Stored gate[length];
    Stored up[length];
    load_run<length>(all, 0, gates, places[0], gate);
    load_run<length>(all, 1, values, places[1], up);
    // One copy of the functions' code: elements move through the arrays.
#pragma unroll 1
    for (unsigned turn = 0; turn < length; ++turn) {
      const Value x = Element<Stored>::widen(gate[0]);
      const Value y = Element<Stored>::widen(up[0]);
      const Stored result = Element<Stored>::narrow(activation(kind, x) * y);
#pragma unroll
      for (unsigned k = 0; k + 1 < length; ++k) {
        gate[k] = gate[k + 1];
        up[k] = up[k + 1];
      }
      gate[length - 1] = result;
    }
    store_run<length>(all, 2, out, places[2], gate);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(type, Stored)                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                                \
      hiptool_rope_pairs_##type(hiptool_ops::Rotation all, const Stored* in, const float* cosines, \
                                const float* sines, Stored* out) {                                 \
    hiptool_ops::rotate(all, in, cosines, sines, out);                                             \
  }                                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                \
      hiptool_rope_rest_##type(hiptool_ops::Operands<2> all, const Stored* in, Stored* out) {      \
    hiptool_ops::copy_rest(all, in, out);                                                          \
  }                                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                \
      hiptool_gate_runs_##type(hiptool_ops::GateKind kind, hiptool_ops::Operands<3> all,           \
                               const Stored* gates, const Stored* values, Stored* out) {           \
    hiptool_ops::gate_runs<hiptool_ops::Run<Stored>::length>(kind, all, gates, values, out);       \
  }                                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                \
      hiptool_gate_apart_##type(hiptool_ops::GateKind kind, hiptool_ops::Operands<3> all,          \
                                const Stored* gates, const Stored* values, Stored* out) {          \
    hiptool_ops::gate_runs<1>(kind, all, gates, values, out);                                      \
  }                                                                                                \
  HIPTOOL_EXPORT(hiptool_rope_pairs_##type);                                                       \
  HIPTOOL_EXPORT(hiptool_rope_rest_##type);                                                        \
  HIPTOOL_EXPORT(hiptool_gate_runs_##type);                                                        \
  HIPTOOL_EXPORT(hiptool_gate_apart_##type)

HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(f32, float);
HIPTOOL_KERNELS(f64, double);

// Cosines and sines of position times frequency. Positions may be null: then they follow `first`.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_rope_tables(hiptool_ops::RopeTable all, const double* frequencies,
                        const uint32_t* positions, float* cosines, float* sines) {
  hiptool_ops::make_tables(all, frequencies, positions, cosines, sines);
}
HIPTOOL_EXPORT(hiptool_rope_tables);
