// SPDX-License-Identifier: MIT
// Functions and gates of f16 and bf16. For packed tensors each has a kernel of its own, whose
// threads have two pieces of 16 bytes under way at a time; one kernel for each type serves all
// other layouts, with the same bits.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_math_narrow.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

enum class NarrowOp : uint32_t {
#define HIPTOOL_NARROW(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_NARROW
};

// A pair is a word of two elements. NaN leads to no certain result.
template <class Stored>
struct Halves;
template <>
struct Halves<F16> {
  using Format = hiptool_device::F16;
  enum : uint32_t { below_nan = 0x03FF };  // added, it makes of NaN alone a number with bit 15
  static __device__ uint32_t pair(float low, float high) {
    return hiptool_device::numbers_to_f16(low, high);
  }
};
template <>
struct Halves<Bf16> {
  using Format = hiptool_device::Bf16;
  enum : uint32_t { below_nan = 0x007F };
  // Of two equally near ones the larger: the functions' results are not halfway between elements.
  static __device__ uint32_t pair(float low, float high) {
    const uint32_t upper = __float_as_uint(high) + 0x8000U;
    return (__float_as_uint(low) + 0x8000U) >> 16 | (upper & 0xFFFF0000U);
  }
};

template <NarrowOp operation, class Format>
__forceinline__ __device__ float function_of(float x) {
#define HIPTOOL_NARROW(name, ...) \
  if constexpr (operation == NarrowOp::name) return __VA_ARGS__;
#include "hiptool/operations.def"
#undef HIPTOOL_NARROW
}

template <NarrowOp operation, class Stored>
__forceinline__ __device__ Stored apply_one(Stored in) {
  using Own = Halves<Stored>;
  const float x = Element<Stored>::widen(in);
  const uint32_t result = Own::pair(function_of<operation, typename Own::Format>(x), 0);
  return {static_cast<uint16_t>(x != x ? static_cast<uint32_t>(Own::Format::nan) : result)};
}

// Four words of two elements. NaN is looked for in all of them at once.
template <NarrowOp operation, class Stored>
__forceinline__ __device__ void apply_words(const uint32_t* in, uint32_t* out) {
  using Own = Halves<Stored>;
  float values[8];
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) {
    const Stored stored = {static_cast<uint16_t>(in[k / 2] >> k % 2 * 16)};
    values[k] = function_of<operation, typename Own::Format>(Element<Stored>::widen(stored));
  }
  const uint32_t below_nan = Own::below_nan * 0x00010001U;
  uint32_t sums[4];
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    out[k] = Own::pair(values[2 * k], values[2 * k + 1]);
    sums[k] = (in[k] & 0x7FFF7FFFU) + below_nan;
  }
  if (((sums[0] | sums[1] | sums[2] | sums[3]) & 0x80008000U) == 0) return;
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    const uint32_t is_nan = sums[k] >> 15 & 0x00010001U;
    out[k] = (out[k] & ~(is_nan * 0xFFFFU)) | is_nan * Own::Format::nan;
  }
}

template <NarrowOp operation, class Stored>
__forceinline__ __device__ void apply_packed(uint64_t count, const Stored* in, Stored* out) {
  constexpr unsigned length = Run<Stored>::length;
  const uint64_t pieces = count / length;
  const unsigned threads = blockDim.x;
  const uint64_t stride = 2 * hiptool_device::unit_stride();
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * threads * 2 + threadIdx.x; i < pieces;
       i += stride) {
    const auto* const from = reinterpret_cast<const uint4*>(in) + i;
    auto* to = reinterpret_cast<uint4*>(out) + i;
    const bool has_second = pieces - i > threads;
    const uint4 first = load_unit(from);
    const uint4 second = load_unit(from + (has_second ? threads : 0));
    uint32_t words[4] = {first.x, first.y, first.z, first.w};
    // One copy of the functions' code.
#pragma unroll 1
    for (unsigned left = has_second ? 2 : 1; left > 0; --left) {
      uint32_t results[4];
      apply_words<operation, Stored>(words, results);
      *to = hiptool_device::make_unit(results[0], results[1], results[2], results[3]);
      to += threads;
      words[0] = second.x;
      words[1] = second.y;
      words[2] = second.z;
      words[3] = second.w;
    }
  }
  const uint64_t rest = count % length;
  const uint64_t unit = hiptool_device::first_unit();
  if (unit < rest) {
    const uint64_t at = count - rest + unit;
    out[at] = apply_one<operation>(in[at]);
  }
}

template <class Stored>
__forceinline__ __device__ Stored apply_one(NarrowOp operation, Stored in) {
  switch (operation) {
#define HIPTOOL_NARROW(name, ...) \
  case NarrowOp::name:            \
    return apply_one<NarrowOp::name>(in);
#include "hiptool/operations.def"
#undef HIPTOOL_NARROW
  }
  return in;
}

template <class Stored>
__forceinline__ __device__ void apply_anywhere(NarrowOp operation, const Operands<2>& all,
                                               const Stored* in, Stored* out) {
  constexpr unsigned length = Run<Stored>::length;
  const uint64_t stride = hiptool_device::unit_stride() * all.run;
  for (uint64_t i = hiptool_device::first_unit() * all.run; i < all.count; i += stride) {
    const AnyRun<length, 2> place(all, i);
    Stored elements[length];
    place.template load<0>(in, elements);
    // One copy of the functions' code: elements move through the array.
#pragma unroll 1
    for (unsigned turn = 0; turn < all.run; ++turn) {
      const Stored result = apply_one(operation, elements[0]);
#pragma unroll
      for (unsigned k = 0; k + 1 < length; ++k) elements[k] = elements[k + 1];
      elements[length - 1] = result;
    }
    place.template store<1>(out, elements);
  }
}

template <GateKind kind, class Stored>
__forceinline__ __device__ Stored gate_one(Stored gate, Stored up) {
  using Factor = hiptool_narrow::Factor<typename Halves<Stored>::Format>;
  const float x = Element<Stored>::widen(gate);
  const float y = Element<Stored>::widen(up);
  const float factor =
      kind == GateKind::silu ? hiptool_narrow::silu<Factor>(x) : hiptool_narrow::sigmoid<Factor>(x);
  return Element<Stored>::narrow(x != x ? x : factor * y);
}

// Of layouts with runs of whole pieces.
template <GateKind kind, class Stored>
__forceinline__ __device__ void gate_runs(const Operands<3>& all, const Stored* gates,
                                          const Stored* values, Stored* out) {
  constexpr unsigned length = Run<Stored>::length;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  for (uint64_t i = hiptool_device::first_unit() * length; i < all.count; i += stride) {
    uint64_t places[3];
    find_places(all, i, places);
    Stored gate[length];
    Stored up[length];
    load_run<length>(all, 0, gates, places[0], gate);
    load_run<length>(all, 1, values, places[1], up);
#pragma unroll
    for (unsigned k = 0; k < length; ++k) gate[k] = gate_one<kind>(gate[k], up[k]);
    store_run<length>(all, 2, out, places[2], gate);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_GATE_KERNEL(kind, type, Stored)                                               \
  extern "C" __global__ void __launch_bounds__(256) hiptool_narrow_gate_##kind##_##type(      \
      hiptool_ops::Operands<3> all, const Stored* gates, const Stored* values, Stored* out) { \
    hiptool_ops::gate_runs<hiptool_ops::GateKind::kind>(all, gates, values, out);             \
  }                                                                                           \
  HIPTOOL_EXPORT(hiptool_narrow_gate_##kind##_##type)
#define HIPTOOL_KERNEL(type, Stored)                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                        \
      hiptool_narrow_##type(hiptool_ops::NarrowOp operation, hiptool_ops::Operands<2> all, \
                            const Stored* in, Stored* out) {                               \
    hiptool_ops::apply_anywhere(operation, all, in, out);                                  \
  }                                                                                        \
  HIPTOOL_EXPORT(hiptool_narrow_##type)
#define HIPTOOL_PACKED_KERNEL(name, type, Stored)                                     \
  extern "C" __global__ void __launch_bounds__(256)                                   \
      hiptool_narrow_##name##_##type(uint64_t count, const Stored* in, Stored* out) { \
    hiptool_ops::apply_packed<hiptool_ops::NarrowOp::name>(count, in, out);           \
  }                                                                                   \
  HIPTOOL_EXPORT(hiptool_narrow_##name##_##type);
#define HIPTOOL_NARROW(name, ...)                    \
  HIPTOOL_PACKED_KERNEL(name, f16, hiptool_ops::F16) \
  HIPTOOL_PACKED_KERNEL(name, bf16, hiptool_ops::Bf16)

HIPTOOL_KERNEL(f16, hiptool_ops::F16);
HIPTOOL_KERNEL(bf16, hiptool_ops::Bf16);
#include "hiptool/operations.def"
HIPTOOL_GATE_KERNEL(silu, f16, hiptool_ops::F16);
HIPTOOL_GATE_KERNEL(silu, bf16, hiptool_ops::Bf16);
HIPTOOL_GATE_KERNEL(sigmoid, f16, hiptool_ops::F16);
HIPTOOL_GATE_KERNEL(sigmoid, bf16, hiptool_ops::Bf16);
