// SPDX-License-Identifier: MIT
// Rows of f16 and bf16 that 32 threads share on NVIDIA GPUs: a thread has two lanes of
// hiptool_file_rows.h, 32 apart, and loads its next pieces while it adds those before them, also
// those of its next tile.
#pragma once
#include "hiptool_file_rows.h"

namespace hiptool_ops {

template <class Row>
struct WarpRow {
  enum : bool { is_known = false };
};
template <>
struct WarpRow<PlainRow<F16>> {
  enum : bool { is_known = true };
  using Stored = F16;
};
template <>
struct WarpRow<PlainRow<Bf16>> {
  enum : bool { is_known = true };
  using Stored = Bf16;
};

// The next pieces of a thread's two lanes, alternately, of `rows` rows. Each is replaced by a later
// one as soon as it has been added.
template <class Stored, unsigned rows>
struct LanePieces {
  enum : unsigned { depth = warp_depth, step = depth * warp_threads };
  static_assert(unsigned{dot_staged} % step == 0, "a step ends no later than a part of the token");
  static_assert(depth % unsigned{warp_lanes} == 0, "places belong to the same lane in each step");
  uint4 units[depth][rows][2];

  // Of a row of `count` pieces, those from `first` on, which is that of the first thread.
  __forceinline__ __device__ void load(const uint8_t* const* lines, uint32_t first, uint32_t own,
                                       uint32_t count) {
#pragma unroll
    for (unsigned k = 0; k < depth; ++k) load_one(k, lines, first + k * warp_threads, own, count);
  }
  // Adds those from `first` on, before `end`, and loads those from `next` on.
  template <class Vector>
  __forceinline__ __device__ void add(const Vector& x, uint32_t first, uint32_t end, uint32_t own,
                                      const uint8_t* const* lines, uint32_t next, uint32_t count,
                                      float (*sums)[warp_lanes]) {
#pragma unroll
    for (unsigned k = 0; k < depth; ++k) {
      const uint32_t piece = first + k * warp_threads + own;
      if (piece < end) add_one(k, x, piece, sums);
      load_one(k, lines, next + k * warp_threads, own, count);
    }
  }

 private:
  __forceinline__ __device__ void load_one(unsigned k, const uint8_t* const* lines, uint32_t first,
                                           uint32_t own, uint32_t count) {
    if (first >= count) return;
    const uint64_t piece = first + own < count ? first + own : count - 1;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      const auto* const from = reinterpret_cast<const uint4*>(lines[r]) + piece * 2;
      units[k][r][0] = load_unit(from);
      units[k][r][1] = load_unit(from + 1);
    }
    keep_loads_before();
  }
  template <class Vector>
  __forceinline__ __device__ void add_one(unsigned k, const Vector& x, uint32_t piece,
                                          float (*sums)[warp_lanes]) const {
    float vector[dot_piece];
    x.load(piece, vector);
    alignas(16) Stored stored[rows][dot_piece];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      move_bytes<16>(stored[r], &units[k][r][0]);
      move_bytes<16>(stored[r] + 8, &units[k][r][1]);
    }
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        float& sum = sums[r][k % warp_lanes];
        sum = __fmaf_rn(Element<Stored>::widen(stored[r][j]), vector[j], sum);
      }
    }
  }
};

// By the tree of join_lanes; all 32 threads get the result.
inline __device__ float join_warp(const float* sums) {
  float sum[1] = {sums[0] + sums[1]};
  hiptool_device::add_across<16, 1>(sum);
  return sum[0];
}

}  // namespace hiptool_ops
