// SPDX-License-Identifier: MIT
// What the host passes to the kernels of tensor operations; both include it. The types of 32 and 64
// bits come from <hip/hip_runtime.h> there and from <cstdint> here.
#pragma once

// The mark of functions that both call: the run-time compilers refuse those without one.
#if defined(__HIP__) || defined(__HIPCC_RTC__) || defined(__CUDACC__)
#define HIPTOOL_SHARED __host__ __device__
#else
#define HIPTOOL_SHARED
#endif

namespace hiptool_ops {

enum : unsigned { most_axes = 8 };

// For kernels that take the types of elements as arguments; in the order of hiptool::DType.
enum class Type : uint32_t { u8, u32, i16, i32, i64, f16, bf16, f32, f64, f8e4m3 };

// n / divisor = (high word of n * multiplier + n) >> shift for n below 2^31 (Granlund and
// Montgomery, Division by invariant integers using multiplication, 1994, figure 4.1).
struct Divisor {
  uint32_t multiplier;
  uint32_t shift;
};

// Where the elements of several operands are. All have the same dimensions, of which those that
// every operand passes through in one go are joined; axis 0 is the innermost. Strides are counted
// in elements, 0 repeats.
template <unsigned operands>
struct Operands {
  uint64_t count;    // of elements
  uint32_t axes;     // at least 1
  uint32_t is_wide;  // the count does not fit 31 bits, or a stride 32: no divisors
  uint32_t run;      // neighbours along axis 0 that one thread takes: 1, or 16 bytes of them
  uint32_t packed;   // bit k: operand k has the run's elements in one aligned piece
  Divisor divisors[most_axes];
  uint64_t dims[most_axes];
  uint64_t strides[operands][most_axes];
};

}  // namespace hiptool_ops
