// SPDX-License-Identifier: MIT
// Functions and gates of f16 and bf16. For packed tensors each has a kernel of its own, whose
// threads have one or two pieces of 16 bytes under way at a time; one kernel for each type serves
// all other layouts, with the same bits.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_halves.h"
#include "hiptool_math_narrow.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

enum class NarrowOp : uint32_t {
#define HIPTOOL_NARROW(name, ...) name,
#include "hiptool_narrow.def"
#undef HIPTOOL_NARROW
};

template <NarrowOp operation, class Format>
struct FunctionOf;
#define HIPTOOL_NARROW(name, pieces, ...) \
  template <class Format>                 \
  struct FunctionOf<NarrowOp::name, Format> : __VA_ARGS__ {};
#include "hiptool_narrow.def"
#undef HIPTOOL_NARROW

template <NarrowOp operation, class Stored>
__forceinline__ __device__ Stored apply_one(Stored in) {
  using Own = Halves<Stored>;
  using Function = FunctionOf<operation, typename Own::Format>;
  const float x = Element<Stored>::widen(in);
  const uint32_t result = Own::pair(Function::at(hiptool_narrow::inside<Function>(x)), 0);
  return {static_cast<uint16_t>(x != x ? static_cast<uint32_t>(Own::Format::nan) : result)};
}

// A function at both elements of a word.
template <class Function, class Stored>
__forceinline__ __device__ void find_values(uint32_t in, float (&values)[2]) {
#if HIPTOOL_PAIRS
  using Own = Halves<Stored>;
  in = Own::at_least(in, Own::bits_of(Function::low) * 0x00010001U);
  if (Function::has_high) in = Own::at_most(in, Own::bits_of(Function::high) * 0x00010001U);
#endif
#pragma unroll
  for (unsigned k = 0; k < 2; ++k) {
    const Stored stored = {static_cast<uint16_t>(in >> k * 16)};
    const float x = Element<Stored>::widen(stored);
#if HIPTOOL_PAIRS
    values[k] = Function::at(x);
#else
    values[k] = Function::at(hiptool_narrow::inside<Function>(x));
#endif
  }
}
template <NarrowOp operation, class Stored>
__forceinline__ __device__ uint32_t apply_word(uint32_t in) {
  using Own = Halves<Stored>;
  float values[2];
  find_values<FunctionOf<operation, typename Own::Format>, Stored>(in, values);
  return Own::pair(values[0], values[1]);
}

// A piece is four words of two elements.
template <NarrowOp operation, class Stored>
__forceinline__ __device__ uint4 apply_piece(uint4 in) {
  return hiptool_device::make_unit(
      apply_word<operation, Stored>(in.x), apply_word<operation, Stored>(in.y),
      apply_word<operation, Stored>(in.z), apply_word<operation, Stored>(in.w));
}

// One after the other, where some are NaN.
template <NarrowOp operation, class Stored>
__forceinline__ __device__ void apply_slowly(const Stored* in, Stored* out, uint64_t bytes_before) {
  const uint64_t first = bytes_before / sizeof(Stored);
#pragma unroll 1
  for (unsigned k = 0; k < Run<Stored>::length; ++k) {
    out[first + k] = apply_one<operation>(in[first + k]);
  }
}

// The elements after the last piece.
template <NarrowOp operation, class Stored>
__forceinline__ __device__ void apply_to_rest(uint64_t count, const Stored* in, Stored* out) {
  const uint64_t rest = count % Run<Stored>::length;
  const uint64_t unit = hiptool_device::first_unit();
  if (unit < rest) {
    const uint64_t at = count - rest + unit;
    out[at] = apply_one<operation>(in[at]);
  }
}

// A thread has one piece, and the grid has a thread for each.
template <NarrowOp operation, class Stored>
__forceinline__ __device__ void apply_to_piece(uint64_t count, const Stored* in, Stored* out) {
  const uint64_t piece = hiptool_device::first_unit();
  if (piece >= count / Run<Stored>::length) return;
  const uint4 own = load_unit(reinterpret_cast<const uint4*>(in) + piece);
  const uint32_t words[4] = {own.x, own.y, own.z, own.w};
  if (find_nan<Stored>(words) == 0) {
    reinterpret_cast<uint4*>(out)[piece] = apply_piece<operation, Stored>(own);
  } else {
    apply_slowly<operation>(in, out, piece * sizeof(uint4));
  }
}

// A thread has two pieces at a time. The last one with work may have no second: its first takes
// that place too. NaN is looked for before anything else, so that both loads are under way at once.
template <NarrowOp operation, class Stored>
__forceinline__ __device__ void apply_to_two(uint64_t count, const Stored* in, Stored* out) {
  constexpr unsigned length = Run<Stored>::length;
  const uint64_t pieces = count / length;
  const unsigned threads = blockDim.x;
  const uint64_t first_piece = static_cast<uint64_t>(blockIdx.x) * threads * 2 + threadIdx.x;
  const auto stride = static_cast<int64_t>(2 * hiptool_device::unit_stride());
  uint64_t bytes_before = first_piece * sizeof(uint4);
  for (auto left = static_cast<int64_t>(pieces - first_piece); left > 0; left -= stride) {
    const auto* const from = reinterpret_cast<const char*>(in) + bytes_before;
    auto* const to = reinterpret_cast<char*>(out) + bytes_before;
    const uint32_t apart =
        left > static_cast<int64_t>(threads) ? threads * static_cast<uint32_t>(sizeof(uint4)) : 0;
    const uint4 first = load_unit(reinterpret_cast<const uint4*>(from));
    const uint4 second = load_unit(reinterpret_cast<const uint4*>(from + apart));
    const uint32_t words[8] = {first.x,  first.y,  first.z,  first.w,
                               second.x, second.y, second.z, second.w};
    if (find_nan<Stored>(words) == 0) {
      *reinterpret_cast<uint4*>(to) = apply_piece<operation, Stored>(first);
      *reinterpret_cast<uint4*>(to + apart) = apply_piece<operation, Stored>(second);
    } else {
      uint64_t place = bytes_before;
#if defined(__CUDA_ARCH__)
      asm volatile("" : "+l"(place));  // else each round advances addresses for this rare path
#endif
      apply_slowly<operation>(in, out, place);
      if (apart != 0) apply_slowly<operation>(in, out, place + apart);
    }
    bytes_before += static_cast<uint64_t>(stride) * sizeof(uint4);
  }
}

template <NarrowOp operation, unsigned pieces, class Stored>
__forceinline__ __device__ void apply_packed(uint64_t count, const Stored* in, Stored* out) {
  if constexpr (pieces == 1) {
    apply_to_piece<operation>(count, in, out);
  } else {
    apply_to_two<operation>(count, in, out);
  }
  apply_to_rest<operation>(count, in, out);
}

template <class Stored>
__forceinline__ __device__ Stored apply_one(NarrowOp operation, Stored in) {
  switch (operation) {
#define HIPTOOL_NARROW(name, ...) \
  case NarrowOp::name:            \
    return apply_one<NarrowOp::name>(in);
#include "hiptool_narrow.def"
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

template <GateKind kind, class Format>
struct FactorOf : hiptool_narrow::SigmoidFactor<Format> {};
template <class Format>
struct FactorOf<GateKind::silu, Format> : hiptool_narrow::SiluFactor<Format> {};

template <GateKind kind, class Stored>
__forceinline__ __device__ Stored gate_one(Stored gate, Stored up) {
  using Function = FactorOf<kind, typename Halves<Stored>::Format>;
  const float x = Element<Stored>::widen(gate);
  const float factor = Function::at(hiptool_narrow::inside<Function>(x));
  return Element<Stored>::narrow(x != x ? x : factor * Element<Stored>::widen(up));
}

template <GateKind kind, class Stored>
__forceinline__ __device__ uint32_t gate_word(uint32_t gate, uint32_t up) {
  using Own = Halves<Stored>;
  float factors[2];
  find_values<FactorOf<kind, typename Own::Format>, Stored>(gate, factors);
  float low;
  float high;
  widen_word<Stored>(up, low, high);
  return Own::pair(factors[0] * low, factors[1] * high);
}

// A thread has a piece of both at a time. Pieces with NaN or infinities, whose results may be NaN,
// are computed one element after the other.
template <GateKind kind, class Stored>
__forceinline__ __device__ void gate_packed(uint64_t count, const Stored* gates,
                                            const Stored* values, Stored* out) {
  constexpr unsigned length = Run<Stored>::length;
  const uint64_t pieces = count / length;
  const uint64_t stride = hiptool_device::unit_stride();
  for (uint64_t piece = hiptool_device::first_unit(); piece < pieces; piece += stride) {
    const uint4 gate = load_unit(reinterpret_cast<const uint4*>(gates) + piece);
    const uint4 up = load_unit(reinterpret_cast<const uint4*>(values) + piece);
    const uint32_t words[8] = {gate.x, gate.y, gate.z, gate.w, up.x, up.y, up.z, up.w};
    if (!find_unbounded<Stored>(words)) {
      reinterpret_cast<uint4*>(out)[piece] = hiptool_device::make_unit(
          gate_word<kind, Stored>(gate.x, up.x), gate_word<kind, Stored>(gate.y, up.y),
          gate_word<kind, Stored>(gate.z, up.z), gate_word<kind, Stored>(gate.w, up.w));
    } else {
      const uint64_t first = piece * length;
#pragma unroll 1
      for (unsigned k = 0; k < length; ++k) {
        out[first + k] = gate_one<kind>(gates[first + k], values[first + k]);
      }
    }
  }
  const uint64_t rest = count % length;
  const uint64_t unit = hiptool_device::first_unit();
  if (unit < rest) {
    const uint64_t at = count - rest + unit;
    out[at] = gate_one<kind>(gates[at], values[at]);
  }
}

// Of other layouts, in runs of so many elements.
template <GateKind kind, unsigned length, class Stored>
__forceinline__ __device__ void gate_runs(const Operands<3>& all, const Stored* gates,
                                          const Stored* values, Stored* out) {
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

#define HIPTOOL_RUNS_KERNEL(kind, form, length, type, Stored)                                     \
  extern "C" __global__ void __launch_bounds__(256) hiptool_narrow_gate_##form##_##kind##_##type( \
      hiptool_ops::Operands<3> all, const Stored* gates, const Stored* values, Stored* out) {     \
    hiptool_ops::gate_runs<hiptool_ops::GateKind::kind, length>(all, gates, values, out);         \
  }                                                                                               \
  HIPTOOL_EXPORT(hiptool_narrow_gate_##form##_##kind##_##type)
#define HIPTOOL_GATE_KERNEL(kind, type, Stored)                                                 \
  HIPTOOL_RUNS_KERNEL(kind, apart, 1, type, Stored);                                            \
  HIPTOOL_RUNS_KERNEL(kind, runs, hiptool_ops::Run<Stored>::length, type, Stored);              \
  extern "C" __global__ void __launch_bounds__(256) hiptool_narrow_gate_packed_##kind##_##type( \
      uint64_t count, const Stored* gates, const Stored* values, Stored* out) {                 \
    hiptool_ops::gate_packed<hiptool_ops::GateKind::kind>(count, gates, values, out);           \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_narrow_gate_packed_##kind##_##type)
#define HIPTOOL_KERNEL(type, Stored)                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                        \
      hiptool_narrow_##type(hiptool_ops::NarrowOp operation, hiptool_ops::Operands<2> all, \
                            const Stored* in, Stored* out) {                               \
    hiptool_ops::apply_anywhere(operation, all, in, out);                                  \
  }                                                                                        \
  HIPTOOL_EXPORT(hiptool_narrow_##type)
#define HIPTOOL_PACKED_KERNEL(name, pieces, type, Stored)                             \
  extern "C" __global__ void __launch_bounds__(256)                                   \
      hiptool_narrow_##name##_##type(uint64_t count, const Stored* in, Stored* out) { \
    hiptool_ops::apply_packed<hiptool_ops::NarrowOp::name, pieces>(count, in, out);   \
  }                                                                                   \
  HIPTOOL_EXPORT(hiptool_narrow_##name##_##type);
#define HIPTOOL_NARROW(name, pieces, ...)                    \
  HIPTOOL_PACKED_KERNEL(name, pieces, f16, hiptool_ops::F16) \
  HIPTOOL_PACKED_KERNEL(name, pieces, bf16, hiptool_ops::Bf16)

HIPTOOL_KERNEL(f16, hiptool_ops::F16);
HIPTOOL_KERNEL(bf16, hiptool_ops::Bf16);
#include "hiptool_narrow.def"
HIPTOOL_GATE_KERNEL(silu, f16, hiptool_ops::F16);
HIPTOOL_GATE_KERNEL(silu, bf16, hiptool_ops::Bf16);
HIPTOOL_GATE_KERNEL(sigmoid, f16, hiptool_ops::F16);
HIPTOOL_GATE_KERNEL(sigmoid, bf16, hiptool_ops::Bf16);
