// SPDX-License-Identifier: MIT
// Rows that a few warps hold, and their sums in the order that a block of 256 threads has.
#pragma once
#include "hiptool_math_narrow.h"
#include "hiptool_norms.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

// A thread's part of a row of `row_pieces` pieces for each of 32 lanes. Piece q of a lane is q * 32
// pieces after its first; norm_whole.hip adds those with the same q modulo 8 by the same threads.
template <unsigned warps_, unsigned row_pieces, bool is_full>
struct PartOfRow {
  enum : unsigned {
    warps = warps_,
    pieces = row_pieces / warps,
    groups = row_threads / 32 / warps,  // of sums
    length = 8,
    rows_of_block = norm_many_threads / 32 / warps
  };
  unsigned first;  // element of the first piece
  unsigned width;

  __device__ explicit PartOfRow(uint64_t row_width)
      : first((threadIdx.x / 32 % warps * groups * 32 + threadIdx.x % 32) * length),
        width(static_cast<unsigned>(row_width)) {}
  static __device__ unsigned row_of_block() { return threadIdx.x / 32 / warps; }
  static __device__ unsigned offset(unsigned i) {
    return (i / groups * (row_threads / 32) + i % groups) * 32 * length;
  }
  __device__ bool has(unsigned i) const { return is_full || first + offset(i) < width; }
};

// Sums of groups of 32 lanes, each as join_32 has it. Lanes that differ by `distance` share out the
// groups, and each joins one half of them; in the end 32 / count neighbouring lanes have one sum.
template <unsigned count, int distance>
__forceinline__ __device__ float share_out(const float (&parts)[count]) {
  if constexpr (count > 1) {
    const bool has_upper = (threadIdx.x & static_cast<unsigned>(distance)) != 0;
    float kept[count / 2];
#pragma unroll
    for (unsigned g = 0; g < count / 2; ++g) {
      // Values, not places: clang would select addresses, and keep the sums in memory.
      const float low = +parts[g];
      const float high = +parts[g + count / 2];
      kept[g] =
          (has_upper ? +high : +low) + hiptool_device::exchange(has_upper ? +low : +high, distance);
    }
    return share_out<count / 2, distance / 2>(kept);
  } else if constexpr (distance > 0) {
    const float joined[1] = {parts[0] + hiptool_device::exchange(parts[0], distance)};
    return share_out<1, distance / 2>(joined);
  } else {
    return parts[0];
  }
}

// The sum of a row from the sums of its groups, which are added in their order. Calls that follow
// each other have different `shared`.
template <class Part>
__forceinline__ __device__ float join_groups(const float (&sums)[Part::groups], float* shared) {
  constexpr unsigned lanes_of_group = 32 / Part::groups;
  constexpr unsigned all_groups = row_threads / 32;
  const float own = share_out<Part::groups, 16>(sums);
  float all[all_groups];
  if constexpr (Part::warps == 1) {
#pragma unroll
    for (unsigned g = 0; g < all_groups; ++g) {
      all[g] = __shfl(own, static_cast<int>(g * lanes_of_group), 32);
    }
  } else {
    float* const of_row = shared + Part::row_of_block() * all_groups;
    if (threadIdx.x % lanes_of_group == 0) {
      of_row[threadIdx.x / lanes_of_group % all_groups] = own;
    }
    __syncthreads();
    hiptool_device::read_unit(reinterpret_cast<const uint4*>(of_row)[0], all);
    hiptool_device::read_unit(reinterpret_cast<const uint4*>(of_row)[1], all + 4);
  }
  float sum = all[0];
#pragma unroll
  for (unsigned g = 1; g < all_groups; ++g) sum = sum + all[g];
  return sum;
}

// The largest of a row's threads'.
template <class Part>
__forceinline__ __device__ float join_largest(float value, float* shared) {
  value = hiptool_device::join_32<Larger>(value);
  if constexpr (Part::warps > 1) {
    float* const own = shared + Part::row_of_block() * (row_threads / 32);
    if (threadIdx.x % 32 == 0) own[threadIdx.x / 32 % Part::warps] = value;
    __syncthreads();
    value = own[0];
#pragma unroll
    for (unsigned w = 1; w < Part::warps; ++w) value = hiptool_narrow::at_least(value, own[w]);
  }
  return value;
}

}  // namespace hiptool_ops
