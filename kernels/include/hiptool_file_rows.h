// SPDX-License-Identifier: MIT
// Rows of the matrices of model files in pieces of 16 columns, and the order of a row's product
// with a vector x, which depends on the type and on the number of columns only:
// * piece p belongs to lane p % 64, which adds its pieces in their order;
// * of a plain type a lane adds the products of its elements in their order by fused multiply-add;
// * of a quantised type the values of a piece are step * n - minimum. A lane adds the products of n
//   and x of the piece in their order by fused multiply-add, beginning with 0, then the step times
//   this sum, and then, where the type has minima, -minimum times the piece's sum of x, each by one
//   fused multiply-add. No value is rounded. The sum of x: (x0 + x1) + (x2 + x3) of each four, and
//   of these four sums (s0 + s2) + (s1 + s3);
// * one tree joins the lanes (those that are 32, 16, .. apart).
// With u = 2^-24 and k columns, to first order in u, the product of a quantised row is off by no
// more than (22 + 2 ceil(k / 1024)) u times the sum of |step * n * x| + |minimum * x|: that many
// roundings at most are on the way of each product. Sums of a piece are not multiplied by its step
// yet, so that they may leave the range of f32 from |x| = 2^116 on (numbers have 8 bits at most),
// where an RMS norm has left it long before.
#pragma once
#include "hiptool_blocks_iq.h"
#include "hiptool_elements.h"
#include "hiptool_layers.h"

namespace hiptool_ops {

using namespace hiptool_device;

// Of a row; plain types have no scale.
struct RowPiece {
  float numbers[dot_piece];
  hiptool_blocks::Scale scale;
};

// Which steps of the order a type has.
struct PieceRule {
  bool has_scale;
  bool has_minimum;
};
template <class Row>
__forceinline__ __device__ PieceRule rule_of() {
  return {Row::has_scale, Row::has_minimum};
}

// With what the sum of a piece begins in a lane that has `sum`, and the lane after it. `of_x`: the
// piece's sum of x.
inline __device__ float begin_piece(PieceRule rule, float sum) { return rule.has_scale ? 0 : sum; }
inline __device__ float end_piece(PieceRule rule, const hiptool_blocks::Scale& scale, float added,
                                  float of_x, float sum) {
  if (!rule.has_scale) return added;
  sum = __fmaf_rn(scale.step, added, sum);
  return rule.has_minimum ? __fmaf_rn(-scale.minimum, of_x, sum) : sum;
}
inline __device__ float sum_of_four(const float* x) { return (x[0] + x[1]) + (x[2] + x[3]); }
inline __device__ float sum_of_piece(const float* x) {
  return (sum_of_four(x) + sum_of_four(x + 8)) + (sum_of_four(x + 4) + sum_of_four(x + 12));
}

// Tests compile this, too, for the processor as if it were for NVIDIA's GPUs.
#if defined(__CUDA_ARCH__) || defined(HIPTOOL_AS_NVIDIA)
// Bytes of a piece that belong together are loaded in as few accesses as their addresses allow: a
// load of two or four bytes takes as long as one of 16, and compilers do not join them.
struct PieceBytes {
  uint32_t words[4];

  // Of a multiple of 16.
  static __forceinline__ __device__ PieceBytes at_unit(const uint8_t* from) {
    const uint4 unit = load_unit(reinterpret_cast<const uint4*>(from));
    return {{unit.x, unit.y, unit.z, unit.w}};
  }
  // Of a multiple of `align`, 1 or 2: the two or three aligned groups of 8 bytes that have some of
  // them.
  template <unsigned align>
  static __forceinline__ __device__ PieceBytes at(const uint8_t* from) {
    const auto past = static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) % 8);
    const auto* const groups = reinterpret_cast<const uint64_t*>(from - past);
    const uint64_t units[3] = {groups[0], groups[1], groups[(past + 15) / 8]};
    const bool is_second = (past & 4U) != 0;
    uint32_t next[5];
#pragma unroll
    for (uint32_t j = 0; j < 5; ++j) {
      const uint32_t first = static_cast<uint32_t>(units[j / 2] >> (j % 2 * 32));
      const uint32_t second = static_cast<uint32_t>(units[(j + 1) / 2] >> ((j + 1) % 2 * 32));
      next[j] = is_second ? second : first;
    }
    const uint32_t even = (past & 2U) != 0 ? 0x5432U : 0x3210U;
    const uint32_t selector = align == 2 ? even : 0x3210U + (past & 3U) * 0x1111U;
    PieceBytes bytes;
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      bytes.words[j] = hiptool_blocks::chosen_bytes(next[j], next[j + 1], selector);
    }
    return bytes;
  }
};

// Blocks of 32 values whose nibbles are in 16 bytes, the lower ones first: where these begin, and
// what four nibbles in a word mean.
template <hiptool_blocks::Type type>
struct NibbleBlock {
  enum : bool { is_known = false };
};
template <>
struct NibbleBlock<hiptool_blocks::q4_0> {
  enum : bool { is_known = true };
  enum : uint32_t { begin = 2 };
  static __forceinline__ __device__ void numbers(uint32_t nibbles, float* four) {
    hiptool_blocks::numbers_of_bytes(nibbles, 8, four);
  }
};
template <>
struct NibbleBlock<hiptool_blocks::q4_1> {
  enum : bool { is_known = true };
  enum : uint32_t { begin = 4 };
  static __forceinline__ __device__ void numbers(uint32_t nibbles, float* four) {
    hiptool_blocks::numbers_of_bytes(nibbles, 0, four);
  }
};
template <>
struct NibbleBlock<hiptool_blocks::iq4_nl> {
  enum : bool { is_known = true };
  enum : uint32_t { begin = 2 };
  static __forceinline__ __device__ void numbers(uint32_t nibbles, float* four) {
    hiptool_blocks::iq4_numbers(nibbles, four);
  }
};
template <>
struct NibbleBlock<hiptool_blocks::mxfp4> {
  enum : bool { is_known = true };
  enum : uint32_t { begin = 1 };
  static __forceinline__ __device__ void numbers(uint32_t nibbles, float* four) {
    hiptool_blocks::fp4_numbers(nibbles, four);
  }
};
#endif

// For a type apart nothing is specialised (see type_of_memory).
template <hiptool_blocks::Type type, bool is_apart = false>
struct BlockRow {
  using Block = hiptool_blocks::Block<type>;
  enum : bool { has_scale = true, has_minimum = Block::has_minimum };
  using Size = hiptool_blocks::BlockSize<type>;

  static __forceinline__ __device__ void load_whole(const uint8_t* row, const uint16_t* grids,
                                                    uint32_t piece, RowPiece& to) {
    constexpr uint32_t pieces = Size::values / dot_piece;
    const uint8_t* const block = row + static_cast<uint64_t>(piece / pieces) * Size::bytes;
    // A multiple of 16, from which compilers see that all share what a scale is made of.
    const uint32_t i = piece % pieces * dot_piece;
    to.scale = Block::scale({block, grids, i});
#if defined(__CUDA_ARCH__) || defined(HIPTOOL_AS_NVIDIA)
    if constexpr (!is_apart && NibbleBlock<type>::is_known) {
      static_assert(has_groups_of_eight(type), "what else the host and tests take it for");
      const PieceBytes bytes = PieceBytes::at<1>(block + NibbleBlock<type>::begin);
#pragma unroll
      for (uint32_t j = 0; j < 4; ++j) {
        NibbleBlock<type>::numbers(bytes.words[j] >> (i / 16 * 4) & 0x0F0F0F0FU,
                                   to.numbers + 4 * j);
      }
      return;
    }
#endif
#pragma unroll
    for (uint32_t j = 0; j < dot_piece; j += 4) {
      Block::numbers({block, grids, i + j}, to.numbers + j);
    }
  }
  static __forceinline__ __device__ void load(const FileMatrix&, const uint8_t* row,
                                              const uint16_t* grids, uint32_t piece, RowPiece& to) {
    load_whole(row, grids, piece, to);
  }
  static __forceinline__ __device__ void make_values(RowPiece& piece) {
#pragma unroll
    for (uint32_t j = 0; j < dot_piece; j += 4) {
      hiptool_blocks::scale_numbers<type>(piece.scale, piece.numbers + j);
    }
  }
};

#if defined(__CUDA_ARCH__) || defined(HIPTOOL_AS_NVIDIA)
template <>
__forceinline__ __device__ void BlockRow<hiptool_blocks::q4_k>::load_whole(const uint8_t* row,
                                                                           const uint16_t*,
                                                                           uint32_t piece,
                                                                           RowPiece& to) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 16) * Size::bytes;
  const uint32_t i = piece % 16 * dot_piece;
  const PieceBytes packed = PieceBytes::at_unit(block + 16 + i / 64 * 32 + i % 32);
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    hiptool_blocks::numbers_of_bytes(packed.words[j] >> (i / 32 % 2 * 4) & 0x0F0F0F0FU, 0,
                                     to.numbers + 4 * j);
  }
  to.scale = Block::scale({block, nullptr, i});
}

template <>
__forceinline__ __device__ void BlockRow<hiptool_blocks::q5_k>::load_whole(const uint8_t* row,
                                                                           const uint16_t*,
                                                                           uint32_t piece,
                                                                           RowPiece& to) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 16) * Size::bytes;
  const uint32_t i = piece % 16 * dot_piece;
  const PieceBytes low = PieceBytes::at_unit(block + 48 + i / 64 * 32 + i % 32);
  const PieceBytes high = PieceBytes::at_unit(block + 16 + i % 32);
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t nibbles = low.words[j] >> (i / 32 % 2 * 4) & 0x0F0F0F0FU;
    const uint32_t fifth = high.words[j] >> (i / 32) & 0x01010101U;
    hiptool_blocks::numbers_of_bytes(nibbles | fifth << 4, 0, to.numbers + 4 * j);
  }
  to.scale = Block::scale({block, nullptr, i});
}

template <>
__forceinline__ __device__ void BlockRow<hiptool_blocks::q6_k>::load_whole(const uint8_t* row,
                                                                           const uint16_t*,
                                                                           uint32_t piece,
                                                                           RowPiece& to) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 16) * Size::bytes;
  const uint32_t i = piece % 16 * dot_piece;
  const PieceBytes low = PieceBytes::at<2>(block + i / 128 * 64 + i % 64);
  const PieceBytes high = PieceBytes::at<2>(block + 128 + i / 128 * 32 + i % 32);
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t nibbles = low.words[j] >> (i % 128 / 64 * 4) & 0x0F0F0F0FU;
    const uint32_t pairs = high.words[j] >> (i % 128 / 32 * 2) & 0x03030303U;
    hiptool_blocks::numbers_of_bytes(nibbles | pairs << 4, 32, to.numbers + 4 * j);
  }
  to.scale = Block::scale({block, nullptr, i});
}

template <>
__forceinline__ __device__ void BlockRow<hiptool_blocks::q8_0>::load_whole(const uint8_t* row,
                                                                           const uint16_t*,
                                                                           uint32_t piece,
                                                                           RowPiece& to) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 2) * Size::bytes;
  const PieceBytes packed = PieceBytes::at<2>(block + 2 + piece % 2 * dot_piece);
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    hiptool_blocks::numbers_of_bytes(packed.words[j] ^ 0x80808080U, 128, to.numbers + 4 * j);
  }
  to.scale = Block::scale({block, nullptr, 0});
}
#endif

// NVIDIA's assembler delays loads until their bytes are needed, but not across a barrier.
inline __device__ void keep_loads_before() {
#if defined(__CUDA_ARCH__)
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#endif
}

inline __device__ float to_single(float value) { return value; }
inline __device__ float to_single(double value) { return static_cast<float>(value); }

template <class Stored>
struct PlainRow {
  enum : bool { has_scale = false, has_minimum = false };

  // Of rows of whole pieces.
  static __forceinline__ __device__ void load_whole(const uint8_t* row, const uint16_t*,
                                                    uint32_t piece, RowPiece& to) {
    Stored stored[dot_piece];
    load_piece<dot_piece>(
        reinterpret_cast<const Stored*>(row) + static_cast<uint64_t>(piece) * dot_piece, stored);
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
      to.numbers[j] = to_single(Element<Stored>::widen(stored[j]));
    }
  }
  static __forceinline__ __device__ void load(const FileMatrix& matrix, const uint8_t* row,
                                              const uint16_t* grids, uint32_t piece, RowPiece& to) {
    if (matrix.has_pieces != 0) {
      load_whole(row, grids, piece, to);
      return;
    }
    const uint64_t k = static_cast<uint64_t>(piece) * dot_piece;
    const Stored* const from = reinterpret_cast<const Stored*>(row) + k;
    const uint64_t rest = matrix.columns - k;
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
      to.numbers[j] = j < rest ? to_single(Element<Stored>::widen(from[j])) : 0;
    }
  }
  static __forceinline__ __device__ void make_values(RowPiece&) {}
};

// Joins the sums of a row's lanes in shared memory.
inline __device__ float join_lanes(const float* sums) {
  float joined[dot_lanes / 2];
#pragma unroll
  for (unsigned i = 0; i < dot_lanes / 2; ++i) joined[i] = sums[i] + sums[i + dot_lanes / 2];
#pragma unroll
  for (unsigned distance = dot_lanes / 4; distance > 0; distance /= 2) {
#pragma unroll
    for (unsigned i = 0; i < distance; ++i) joined[i] = joined[i] + joined[i + distance];
  }
  return joined[0];
}

// On the processor one thread of a block does the work of all, lane by lane: to switch between
// threads that wait for each other's sums takes longer than what each of them computes. Compiled as
// if for NVIDIA's GPUs, threads share the work as on a device.
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__) || defined(HIPTOOL_AS_NVIDIA)
enum : bool { works_alone = false };
#else
enum : bool { works_alone = true };
#endif
// From one result to the next one of the same thread.
constexpr unsigned result_step = works_alone ? 1 : unsigned{layer_threads};

// A row's product. Numbers that are unpacked in different ways may differ in the sign of a 0, and
// so may sums of products that are too small: a product has none.
inline __device__ float product_of(float sum) { return canonical(sum + 0.0F); }

// Whether another thread does the work of this one.
inline __device__ bool is_idle() {
  if constexpr (works_alone) {
    if (threadIdx.x != 0) return true;
#if !defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    hiptool_cpu::work_alone();
#endif
  }
  return false;
}

inline __device__ void wait_for_block() {
  if constexpr (!works_alone) __syncthreads();
}

// Calls store(result, sum) once for each of the results of a block, whose lanes' sums are in shared
// memory.
template <unsigned results, class Store>
__forceinline__ __device__ void join_results(const float* sums, Store store) {
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
  static_assert(results % (layer_threads / 32) == 0, "all groups of 32 threads have equally many");
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned n = 0; n < results / (layer_threads / 32); ++n) {
    const unsigned result = n * (layer_threads / 32) + threadIdx.x / 32;
    const float* const own = sums + result * dot_pitch;
    float sum[1] = {own[lane] + own[lane + 32]};
    hiptool_device::add_across<16, 1>(sum);
    if (lane == 0) store(result, sum[0]);
  }
#else
  for (unsigned result = threadIdx.x; result < results; result += result_step) {
    store(result, join_lanes(sums + result * dot_pitch));
  }
#endif
}

// Calls body with the type of rows that has that number; nothing for others. Of types apart only
// Q8_0 and blocks of 32 nibbles differ: pieces of the others take no units.
template <class Body>
__forceinline__ __device__ void with_rows(uint32_t type, Body body) {
#if !defined(__AMDGCN__)
  switch (type) {
    case hiptool_blocks::q8_0 + apart: body(BlockRow<hiptool_blocks::q8_0, true>()); return;
    case hiptool_blocks::q4_0 + apart: body(BlockRow<hiptool_blocks::q4_0, true>()); return;
    case hiptool_blocks::q4_1 + apart: body(BlockRow<hiptool_blocks::q4_1, true>()); return;
    case hiptool_blocks::iq4_nl + apart: body(BlockRow<hiptool_blocks::iq4_nl, true>()); return;
    case hiptool_blocks::mxfp4 + apart: body(BlockRow<hiptool_blocks::mxfp4, true>()); return;
    default: break;
  }
  type &= ~apart;
#endif
  switch (type) {
#define HIPTOOL_QUANTISED(name, ...)        \
  case hiptool_blocks::name:                \
    body(BlockRow<hiptool_blocks::name>()); \
    break;
#include "hiptool_quantised.def"
    case static_cast<uint32_t>(PlainType::f32): body(PlainRow<float>()); break;
    case static_cast<uint32_t>(PlainType::f16): body(PlainRow<F16>()); break;
    case static_cast<uint32_t>(PlainType::bf16): body(PlainRow<Bf16>()); break;
    case static_cast<uint32_t>(PlainType::f64): body(PlainRow<double>()); break;
    default: break;
  }
}

struct FindRule {
  PieceRule& rule;
  template <class Row>
  __forceinline__ __device__ void operator()(Row) const {
    rule = rule_of<Row>();
  }
};
inline __device__ PieceRule rule_of_type(uint32_t type) {
  PieceRule rule = {false, false};
  with_rows(type, FindRule{rule});
  return rule;
}

}  // namespace hiptool_ops
