// SPDX-License-Identifier: MIT
// Elementwise operations of two tensors. One kernel for each type and layout: the operation is an
// argument, and the switch over it is outside the loops.
#include <hip/hip_runtime.h>

#include "hiptool_binary.h"

namespace hiptool_ops {

template <class Operation, class Stored, class Result>
HIPTOOL_INLINE __device__ void apply_packed(Operation operation, uint64_t count, const Stored* a,
                                            const Stored* b, Result* out) {
  constexpr unsigned length = Takes<Stored>::length;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  uint64_t i = hiptool_device::first_unit() * length;
  if constexpr (Takes<Stored>::words) {
    const uint64_t rest = count % length;
    for (; i < count - rest; i += stride) {
      uint32_t x[4];
      uint32_t y[4];
      uint32_t z[4];
      load_piece<4>(reinterpret_cast<const uint32_t*>(a + i), x);
      load_piece<4>(reinterpret_cast<const uint32_t*>(b + i), y);
      apply_words<Operation, Stored, Result>(operation, x, y, z);
      store_piece<length * sizeof(Result) / 4>(reinterpret_cast<uint32_t*>(out + i), z);
    }
    if (hiptool_device::first_unit() < rest) {
      i = count - rest + hiptool_device::first_unit();
      apply<1>(operation, a + i, b + i, out + i);
    }
  } else {
    for (; i < count; i += stride) {
      Stored x[length];
      Stored y[length];
      Result z[length];
      load_up_to<length>(a, i, count, x);
      load_up_to<length>(b, i, count, y);
      apply<length>(operation, x, y, z);
      store_up_to<length>(out, i, count, z);
    }
  }
}

// The run of one operand as words, like load_run.
template <class Stored>
HIPTOOL_INLINE __device__ void load_words(const Operands<3>& all, unsigned operand,
                                          const Stored* base, uint64_t place,
                                          uint32_t (&words)[4]) {
  constexpr unsigned in_word = 4 / sizeof(Stored);
  constexpr unsigned bits = 8 * sizeof(Stored);
  if (all.packed >> operand & 1U) {
    load_piece<4>(reinterpret_cast<const uint32_t*>(base + place), words);
    return;
  }
  const uint64_t stride = all.strides[operand][0];
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) words[k] = 0;
  if (stride == 0) {
    uint32_t word = 0;
    hiptool_device::copy_bytes<sizeof(Stored)>(&word, base + place);
    word *= sizeof(Stored) == 1 ? 0x01010101U : 0x00010001U;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) words[k] = word;
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < 4 * in_word; ++k) {
    uint32_t word = 0;
    hiptool_device::copy_bytes<sizeof(Stored)>(&word, base + place + k * stride);
    words[k / in_word] |= word << (k % in_word * bits);
  }
}

template <unsigned length, class Result>
HIPTOOL_INLINE __device__ void store_words(const Operands<3>& all, Result* to,
                                           const uint32_t* words) {
  if (all.packed >> 2 & 1U) {
    store_piece<length * sizeof(Result) / 4>(reinterpret_cast<uint32_t*>(to), words);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    const uint32_t word = words[k * sizeof(Result) / 4] >> (k * 8 * sizeof(Result) % 32);
    hiptool_device::copy_bytes<sizeof(Result)>(to + k * all.strides[2][0], &word);
  }
}

template <class Operation, class Stored, class Result>
HIPTOOL_INLINE __device__ void apply_runs(Operation operation, const Operands<3>& all,
                                          const Stored* a, const Stored* b, Result* out) {
  constexpr unsigned length = Takes<Stored>::length;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  for (uint64_t i = hiptool_device::first_unit() * length; i < all.count; i += stride) {
    uint64_t places[3];
    find_places(all, i, places);
    if constexpr (Takes<Stored>::words) {
      uint32_t x[4];
      uint32_t y[4];
      uint32_t z[4];
      load_words(all, 0, a, places[0], x);
      load_words(all, 1, b, places[1], y);
      apply_words<Operation, Stored, Result>(operation, x, y, z);
      store_words<length>(all, out + places[2], z);
    } else {
      Stored x[length];
      Stored y[length];
      Result z[length];
      load_run<length>(all, 0, a, places[0], x);
      load_run<length>(all, 1, b, places[1], y);
      apply<length>(operation, x, y, z);
      store_run<length>(all, 2, out, places[2], z);
    }
  }
}

template <class Operation, class Stored, class Result>
HIPTOOL_INLINE __device__ void apply_elements(Operation operation, const Operands<3>& all,
                                              const Stored* a, const Stored* b, Result* out) {
  each_place(all, 1, [&](const uint64_t(&places)[3]) {
    apply<1>(operation, a + places[0], b + places[1], out + places[2]);
  });
}

template <class Operation, class Stored, class Result>
HIPTOOL_INLINE __device__ void apply_anywhere(Operation operation, const Operands<3>& all,
                                              const Stored* a, const Stored* b, Result* out) {
  if (all.run == 1) {
    apply_elements(operation, all, a, b, out);
  } else {
    apply_runs(operation, all, a, b, out);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(family, type, Operation, Stored, Result)                                 \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_##family##_packed_##type(hiptool_ops::Operation operation, uint64_t count,        \
                                       const Stored* a, const Stored* b, Result* out) {         \
    hiptool_ops::apply_packed(operation, count, a, b, out);                                     \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_##family##_##type(hiptool_ops::Operation operation, hiptool_ops::Operands<3> all, \
                                const Stored* a, const Stored* b, Result* out) {                \
    hiptool_ops::apply_anywhere(operation, all, a, b, out);                                     \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_##family##_packed_##type);                                             \
  HIPTOOL_EXPORT(hiptool_##family##_##type)

#define HIPTOOL_KERNELS(type, Stored)                     \
  HIPTOOL_KERNEL(binary, type, BinaryOp, Stored, Stored); \
  HIPTOOL_KERNEL(compare, type, CompareOp, Stored, uint8_t)

HIPTOOL_KERNELS(u8, uint8_t);
HIPTOOL_KERNELS(u32, uint32_t);
HIPTOOL_KERNELS(i16, int16_t);
HIPTOOL_KERNELS(i32, int32_t);
HIPTOOL_KERNELS(i64, int64_t);
HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(f32, float);
HIPTOOL_KERNELS(f64, double);
HIPTOOL_KERNELS(f8e4m3, hiptool_ops::F8);
