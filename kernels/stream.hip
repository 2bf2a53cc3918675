// SPDX-License-Identifier: MIT
// The kernels of STREAM (McCalpin) and nstream (Parallel Research Kernels), and plain writes. Each
// thread moves 16 bytes and, if the grid is smaller than the work, continues one grid further on.
// On an H200 one load per thread and one block per piece of work (copy 4260 GB/s) was faster than
// two to eight loads per thread (4108, 4052 and 4031), faster than 8 to 64 blocks per
// multiprocessor (3919 to 4011), and as fast as the driver's own copy (4236); cache hints did not
// help.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

struct Copy {
  static constexpr int inputs = 1;
  template <class Real>
  static __device__ Real apply(Real a, Real, Real) {
    return a;
  }
};
struct Scale {
  static constexpr int inputs = 1;
  template <class Real>
  static __device__ Real apply(Real a, Real, Real) {
    return 3 * a;
  }
};
struct Add {
  static constexpr int inputs = 2;
  template <class Real>
  static __device__ Real apply(Real a, Real b, Real) {
    return a + b;
  }
};
struct Triad {
  static constexpr int inputs = 2;
  template <class Real>
  static __device__ Real apply(Real a, Real b, Real) {
    return a + 3 * b;
  }
};
struct Nstream {
  static constexpr int inputs = 3;
  template <class Real>
  static __device__ Real apply(Real a, Real b, Real c) {
    return c + (a + 3 * b);
  }
};

template <class Operation>
inline __device__ uint4 apply_to_unit(float, uint4 a, uint4 b, uint4 c) {
  const auto one = [](uint32_t x, uint32_t y, uint32_t z) {
    return __float_as_uint(Operation::template apply<float>(__uint_as_float(x), __uint_as_float(y),
                                                            __uint_as_float(z)));
  };
  return make_unit(one(a.x, b.x, c.x), one(a.y, b.y, c.y), one(a.z, b.z, c.z), one(a.w, b.w, c.w));
}

template <class Operation>
inline __device__ uint4 apply_to_unit(double, uint4 a, uint4 b, uint4 c) {
  const auto low = static_cast<uint64_t>(__double_as_longlong(Operation::template apply<double>(
      double_of(a.x, a.y), double_of(b.x, b.y), double_of(c.x, c.y))));
  const auto high = static_cast<uint64_t>(__double_as_longlong(Operation::template apply<double>(
      double_of(a.z, a.w), double_of(b.z, b.w), double_of(c.z, c.w))));
  return make_unit(static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                   static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32));
}

template <class Operation>
inline __device__ uint4 load(const uint4* from, uint4 other, uint64_t at, int place) {
  return Operation::inputs > place ? from[at] : other;
}

template <class Operation, class Real>
inline __device__ void stream_units(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
#pragma unroll 1
  for (uint64_t i = first_unit(); i < count; i += unit_stride()) {
    const uint4 x = a[i];
    out[i] = apply_to_unit<Operation>(Real(), x, load<Operation>(b, x, i, 1),
                                      load<Operation>(out, x, i, 2));
  }
}

// unit_at(i) for every unit.
template <class UnitAt>
inline __device__ void write_units(uint4* out, uint64_t count, UnitAt unit_at) {
#pragma unroll 1
  for (uint64_t i = first_unit(); i < count; i += unit_stride()) out[i] = unit_at(i);
}

}  // namespace

// out = a
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_copy(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Copy, float>(a, b, out, count);
}

// out = 3 a
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_scale_f32(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Scale, float>(a, b, out, count);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_scale_f64(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Scale, double>(a, b, out, count);
}

// out = a + b
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_add_f32(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Add, float>(a, b, out, count);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_add_f64(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Add, double>(a, b, out, count);
}

// out = a + 3 b
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_triad_f32(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Triad, float>(a, b, out, count);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_triad_f64(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Triad, double>(a, b, out, count);
}

// out = out + a + 3 b
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_nstream_f32(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Nstream, float>(a, b, out, count);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_nstream_f64(const uint4* a, const uint4* b, uint4* out, uint64_t count) {
  stream_units<Nstream, double>(a, b, out, count);
}

// The four words of unit i are seed + 4 i, + 1, + 2, + 3 (modulo 2^32) times 0x9E3779B1.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_write(uint4* out, uint64_t count, uint32_t seed) {
  write_units(out, count, [=](uint64_t i) {
    const uint32_t first = (seed + static_cast<uint32_t>(4 * i)) * 0x9E3779B1U;
    return make_unit(first, first + 0x9E3779B1U, first + 2 * 0x9E3779B1U, first + 3 * 0x9E3779B1U);
  });
}

// Every word becomes the value.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_stream_memset(uint4* out, uint64_t count, uint32_t value) {
  write_units(out, count, [=](uint64_t) { return make_unit(value, value, value, value); });
}

HIPTOOL_EXPORT(hiptool_stream_copy);
HIPTOOL_EXPORT(hiptool_stream_scale_f32);
HIPTOOL_EXPORT(hiptool_stream_scale_f64);
HIPTOOL_EXPORT(hiptool_stream_add_f32);
HIPTOOL_EXPORT(hiptool_stream_add_f64);
HIPTOOL_EXPORT(hiptool_stream_triad_f32);
HIPTOOL_EXPORT(hiptool_stream_triad_f64);
HIPTOOL_EXPORT(hiptool_stream_nstream_f32);
HIPTOOL_EXPORT(hiptool_stream_nstream_f64);
HIPTOOL_EXPORT(hiptool_stream_write);
HIPTOOL_EXPORT(hiptool_stream_memset);
