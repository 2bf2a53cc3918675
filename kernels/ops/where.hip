// SPDX-License-Identifier: MIT
// Elements chosen by a condition, and one element repeated: moved by their size, bits unchanged.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"

namespace hiptool_ops {

template <unsigned length, class Condition, class Place>
inline __device__ void load_condition(const Place& place, const void* base, bool* to) {
  Condition words[length];
  place.template load<0>(static_cast<const Condition*>(base), words);
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = words[k] != 0;
}

template <unsigned length, class Word, class Place>
__forceinline__ __device__ void choose(uint32_t condition_bytes, const Place& place,
                                       const void* condition, const Word* on_true,
                                       const Word* on_false, Word* out) {
  bool is_true[length];
  if (condition_bytes == 1) {
    load_condition<length, uint8_t>(place, condition, is_true);
  } else if (condition_bytes == 4) {
    load_condition<length, uint32_t>(place, condition, is_true);
  } else {
    load_condition<length, uint64_t>(place, condition, is_true);
  }
  Word left[length];
  Word right[length];
  place.template load<1>(on_true, left);
  place.template load<2>(on_false, right);
#pragma unroll
  for (unsigned k = 0; k < length; ++k) left[k] = is_true[k] ? left[k] : right[k];
  place.template store<3>(out, left);
}

template <class Word>
inline __device__ void choose_packed(uint32_t condition_bytes, uint64_t count,
                                     const void* condition, const Word* on_true,
                                     const Word* on_false, Word* out) {
  constexpr unsigned length = Run<Word>::length;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  for (uint64_t i = hiptool_device::first_unit() * length; i < count; i += stride) {
    const PackedRun<length> place = {i, count};
    choose<length>(condition_bytes, place, condition, on_true, on_false, out);
  }
}

template <class Word>
inline __device__ void choose_anywhere(uint32_t condition_bytes, const Operands<4>& all,
                                       const void* condition, const Word* on_true,
                                       const Word* on_false, Word* out) {
  constexpr unsigned length = Run<Word>::length;
  const uint64_t stride = hiptool_device::unit_stride() * all.run;
  for (uint64_t i = hiptool_device::first_unit() * all.run; i < all.count; i += stride) {
    const AnyRun<length, 4> place(all, i);
    choose<length>(condition_bytes, place, condition, on_true, on_false, out);
  }
}

template <class Word>
inline __device__ void fill_anywhere(const Operands<1>& all, Word value, Word* out) {
  constexpr unsigned length = Run<Word>::length;
  Word words[length];
#pragma unroll
  for (unsigned k = 0; k < length; ++k) words[k] = value;
  const uint64_t stride = hiptool_device::unit_stride() * all.run;
  for (uint64_t i = hiptool_device::first_unit() * all.run; i < all.count; i += stride) {
    AnyRun<length, 1>(all, i).template store<0>(out, words);
  }
}

template <class Word>
inline __device__ void fill_packed(uint64_t count, Word value, Word* out) {
  constexpr unsigned length = Run<Word>::length;
  Word words[length];
#pragma unroll
  for (unsigned k = 0; k < length; ++k) words[k] = value;
  each_index(count, length, [&](uint64_t i) { store_up_to<length>(out, i, count, words); });
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(bytes, Word)                                                        \
  extern "C" __global__ void __launch_bounds__(256) hiptool_where_packed_##bytes(           \
      uint32_t condition_bytes, uint64_t count, const void* condition, const Word* on_true, \
      const Word* on_false, Word* out) {                                                    \
    hiptool_ops::choose_packed(condition_bytes, count, condition, on_true, on_false, out);  \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(256) hiptool_where_##bytes(                  \
      uint32_t condition_bytes, hiptool_ops::Operands<4> all, const void* condition,        \
      const Word* on_true, const Word* on_false, Word* out) {                               \
    hiptool_ops::choose_anywhere(condition_bytes, all, condition, on_true, on_false, out);  \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(256)                                         \
      hiptool_fill_packed_##bytes(uint64_t count, uint64_t value, Word* out) {              \
    hiptool_ops::fill_packed(count, static_cast<Word>(value), out);                         \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(256)                                         \
      hiptool_fill_##bytes(hiptool_ops::Operands<1> all, uint64_t value, Word* out) {       \
    hiptool_ops::fill_anywhere(all, static_cast<Word>(value), out);                         \
  }                                                                                         \
  HIPTOOL_EXPORT(hiptool_where_packed_##bytes);                                             \
  HIPTOOL_EXPORT(hiptool_where_##bytes);                                                    \
  HIPTOOL_EXPORT(hiptool_fill_packed_##bytes);                                              \
  HIPTOOL_EXPORT(hiptool_fill_##bytes)

HIPTOOL_KERNELS(1, uint8_t);
HIPTOOL_KERNELS(2, uint16_t);
HIPTOOL_KERNELS(4, uint32_t);
HIPTOOL_KERNELS(8, uint64_t);
