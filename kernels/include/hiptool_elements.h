// SPDX-License-Identifier: MIT
// How kernels of tensor operations read, write and find elements.
#pragma once
#include "hiptool_device.h"
#include "hiptool_operands.h"

namespace hiptool_ops {

// Elements as they are in memory. `Value` is what operations compute with; narrowing rounds once
// and writes one pattern for every NaN.
struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};
struct F8 {
  uint8_t bits;
};

template <class Stored>
struct Element {
  using Value = Stored;
  static __device__ Value widen(Stored stored) { return stored; }
  static __device__ Stored narrow(Value value) { return value; }
};
template <>
struct Element<float> {
  using Value = float;
  static __device__ float widen(float stored) { return stored; }
  static __device__ float narrow(float value) { return hiptool_device::canonical(value); }
};
template <>
struct Element<double> {
  using Value = double;
  static __device__ double widen(double stored) { return stored; }
  static __device__ double narrow(double value) { return hiptool_device::canonical(value); }
};
template <>
struct Element<F16> {
  using Value = float;
  static __device__ float widen(F16 stored) { return hiptool_device::f16_to_value(stored.bits); }
  static __device__ F16 narrow(float value) { return {hiptool_device::value_to_f16(value)}; }
};
template <>
struct Element<Bf16> {
  using Value = float;
  static __device__ float widen(Bf16 stored) {
    return hiptool_device::bf16_to_operand(stored.bits);
  }
  static __device__ Bf16 narrow(float value) { return {hiptool_device::to_bf16(value)}; }
};
template <>
struct Element<F8> {
  using Value = float;
  static __device__ float widen(F8 stored) { return hiptool_device::f8e4m3_to_float(stored.bits); }
  static __device__ F8 narrow(float value) { return {hiptool_device::to_f8e4m3(value)}; }
};

// As many elements as 16 bytes hold, but at most 8: what one thread takes at a time.
template <class Stored>
struct Run {
  enum : unsigned { length = sizeof(Stored) == 1 ? 8 : 16 / sizeof(Stored) };
};

// Moves `bytes` (a power of two up to 16) between aligned memory and registers in one access.
template <unsigned bytes>
inline __device__ void move_bytes(void* to, const void* from) {
  if constexpr (bytes == 16) {
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
  } else if constexpr (bytes == 8) {
    *static_cast<uint64_t*>(to) = *static_cast<const uint64_t*>(from);
  } else if constexpr (bytes == 4) {
    *static_cast<uint32_t*>(to) = *static_cast<const uint32_t*>(from);
  } else if constexpr (bytes == 2) {
    *static_cast<uint16_t*>(to) = *static_cast<const uint16_t*>(from);
  } else {
    *static_cast<uint8_t*>(to) = *static_cast<const uint8_t*>(from);
  }
}

// 16 bytes in one access. LLVM makes a load of each word, and may move some of them away from the
// others, where it does not see all four used at once.
inline __device__ uint4 load_unit(const uint4* from) {
  uint4 unit = *from;
#if defined(__clang__) && defined(__NVPTX__)
  uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
  asm("" : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]));
  unit = hiptool_device::make_unit(words[0], words[1], words[2], words[3]);
#endif
  return unit;
}

// `length` neighbouring elements in one piece; more than 16 bytes in several.
template <unsigned length, class Stored>
inline __device__ void load_piece(const Stored* from, Stored* to) {
  constexpr unsigned bytes = length * sizeof(Stored);
  constexpr unsigned step = bytes < 16 ? bytes : 16;
  alignas(16) Stored piece[length];
#pragma unroll
  for (unsigned done = 0; done < bytes; done += step) {
    const char* const place = reinterpret_cast<const char*>(from) + done;
    if constexpr (step == 16) {
      const uint4 unit = load_unit(reinterpret_cast<const uint4*>(place));
      move_bytes<step>(reinterpret_cast<char*>(piece) + done, &unit);
    } else {
      move_bytes<step>(reinterpret_cast<char*>(piece) + done, place);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = piece[k];
}

template <unsigned length, class Stored>
inline __device__ void store_piece(Stored* to, const Stored* from) {
  constexpr unsigned bytes = length * sizeof(Stored);
  constexpr unsigned step = bytes < 16 ? bytes : 16;
  alignas(16) Stored piece[length];
#pragma unroll
  for (unsigned k = 0; k < length; ++k) piece[k] = from[k];
#pragma unroll
  for (unsigned done = 0; done < bytes; done += step) {
    move_bytes<step>(reinterpret_cast<char*>(to) + done,
                     reinterpret_cast<const char*>(piece) + done);
  }
}

// The same of a packed tensor's elements from `first` on, of which some may be beyond its end.
template <unsigned length, class Stored>
inline __device__ void load_up_to(const Stored* base, uint64_t first, uint64_t count, Stored* to) {
  if (first + length <= count) {
    load_piece<length>(base + first, to);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = base[first + k < count ? first + k : first];
}

template <unsigned length, class Stored>
inline __device__ void store_up_to(Stored* base, uint64_t first, uint64_t count,
                                   const Stored* from) {
  if (first + length <= count) {
    store_piece<length>(base + first, from);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    if (first + k < count) base[first + k] = from[k];
  }
}

// Places of an element in all operands, by its index in row-major order.
template <unsigned operands>
inline __device__ void find_places(const Operands<operands>& all, uint64_t index,
                                   uint64_t (&places)[operands]) {
#pragma unroll
  for (unsigned k = 0; k < operands; ++k) places[k] = 0;
  if (!all.is_wide) {
    // Everything fits 32 bits, and a product of 64 is one instruction.
    uint32_t rest = static_cast<uint32_t>(index);
#pragma unroll 1
    for (unsigned axis = 0; axis < all.axes; ++axis) {
      uint32_t inside = rest;
      if (axis + 1 < all.axes) {
        const Divisor divisor = all.divisors[axis];
        const uint64_t product = static_cast<uint64_t>(rest) * divisor.multiplier;
        const uint32_t quotient = (static_cast<uint32_t>(product >> 32) + rest) >> divisor.shift;
        inside = rest - quotient * static_cast<uint32_t>(all.dims[axis]);
        rest = quotient;
      }
#pragma unroll
      for (unsigned k = 0; k < operands; ++k) {
        const uint32_t stride = static_cast<uint32_t>(all.strides[k][axis]);
        places[k] += static_cast<uint64_t>(inside) * stride;
      }
    }
    return;
  }
#pragma unroll 1
  for (unsigned axis = 0; axis < all.axes; ++axis) {
    uint64_t inside = index;
    if (axis + 1 < all.axes) {
      const uint64_t quotient = index / all.dims[axis];
      inside = index - quotient * all.dims[axis];
      index = quotient;
    }
#pragma unroll
    for (unsigned k = 0; k < operands; ++k) places[k] += inside * all.strides[k][axis];
  }
}

// The run of one operand at its place: one piece, one value repeated, or elements apart.
template <unsigned length, unsigned operands, class Stored>
inline __device__ void load_run(const Operands<operands>& all, unsigned operand, const Stored* base,
                                uint64_t place, Stored* to) {
  if (all.packed >> operand & 1U) {
    load_piece<length>(base + place, to);
    return;
  }
  const uint64_t stride = all.strides[operand][0];
  if (stride == 0) {
    const Stored value = base[place];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) to[k] = value;
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = base[place + k * stride];
}

template <unsigned length, unsigned operands, class Stored>
inline __device__ void store_run(const Operands<operands>& all, unsigned operand, Stored* base,
                                 uint64_t place, const Stored* from) {
  if (all.packed >> operand & 1U) {
    store_piece<length>(base + place, from);
    return;
  }
  const uint64_t stride = all.strides[operand][0];
#pragma unroll
  for (unsigned k = 0; k < length; ++k) base[place + k * stride] = from[k];
}

// What one thread takes at a time: of packed tensors...
template <unsigned length>
struct PackedRun {
  uint64_t first;
  uint64_t count;

  template <unsigned operand, class Stored>
  __device__ void load(const Stored* base, Stored* to) const {
    load_up_to<length>(base, first, count, to);
  }
  template <unsigned operand, class Stored>
  __device__ void store(Stored* base, const Stored* from) const {
    store_up_to<length>(base, first, count, from);
  }
};

// ...and of tensors of any layout, where it may be one element, which is loaded into all places,
// and stored from the last one, so that one copy of a kernel's code serves for runs and for
// elements.
template <unsigned length, unsigned operands>
struct AnyRun {
  const Operands<operands>& all;
  uint64_t places[operands];

  __device__ AnyRun(const Operands<operands>& wanted, uint64_t index) : all(wanted) {
    find_places(all, index, places);
  }
  template <unsigned operand, class Stored>
  __device__ void load(const Stored* base, Stored* to) const {
    if (all.run != 1) {
      load_run<length>(all, operand, base, places[operand], to);
      return;
    }
    const Stored element = base[places[operand]];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) to[k] = element;
  }
  template <unsigned operand, class Stored>
  __device__ void store(Stored* base, const Stored* from) const {
    if (all.run != 1) {
      store_run<length>(all, operand, base, places[operand], from);
    } else {
      base[places[operand]] = from[length - 1];
    }
  }
};

// Calls body(index) for the first element of every run that is this thread's.
template <class Body>
inline __device__ void each_index(uint64_t count, uint64_t run, Body body) {
  const uint64_t stride = hiptool_device::unit_stride() * run;
  for (uint64_t i = hiptool_device::first_unit() * run; i < count; i += stride) body(i);
}

// Calls body(places) likewise, for operands of any layout.
template <unsigned operands, class Body>
inline __device__ void each_place(const Operands<operands>& all, uint64_t run, Body body) {
  each_index(all.count, run, [&](uint64_t index) {
    uint64_t places[operands];
    find_places(all, index, places);
    body(places);
  });
}

}  // namespace hiptool_ops
