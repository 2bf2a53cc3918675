// SPDX-License-Identifier: MIT
// Products by the matrix instructions of AMD: MFMA of gfx942 (CDNA 3 ISA, 7), WMMA of gfx11 (RDNA3
// ISA, 7.9) and of gfx12 (RDNA4 ISA, 7.12), all of 16 x 16 x 16. MFMA of gfx90a flushes denormal
// halves (MIOpen's manual, "MI200 MFMA behavior specifics"), so it is not used.
#pragma once
#include "hiptool_products.h"

namespace hiptool_ops {

typedef uint32_t UnitWords __attribute__((ext_vector_type(4)));
typedef float UnitFloats4 __attribute__((ext_vector_type(4)));
typedef float UnitFloats8 __attribute__((ext_vector_type(8)));

// Operands of 16 lines each. The results of a lane are in row lane % 16 of the first and in
// neighbouring columns, which are lines of the second one: the instruction gets the columns as its
// rows. All lanes may have the same permutation of k, because both operands have it.
#if defined(__gfx942__) || defined(__gfx950__)

// Lane i has line i % 16 and elements 4 (i / 16) to 4 (i / 16) + 3 of k. Of the results it has rows
// 4 (i / 16) to 4 (i / 16) + 3 of column i % 16. Two instructions share a unit of eight elements.
struct Units {
  enum : unsigned { lanes = 64, wave_columns = 128, step = 32, operand_units = 1, results = 4 };
  using Results = UnitFloats4;
  static __device__ unsigned line(unsigned lane) { return lane % 16; }
  static __device__ unsigned column(unsigned lane) { return lane % 16; }
  static __device__ unsigned first_unit(unsigned lane) { return lane / 16; }
};

typedef _Float16 UnitHalves __attribute__((ext_vector_type(4)));
typedef short UnitBfloats __attribute__((ext_vector_type(4)));
typedef uint32_t UnitPair __attribute__((ext_vector_type(2)));

inline __device__ void multiply_add(F16, UnitFloats4& sum, UnitPair row, UnitPair column) {
  sum = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(UnitHalves, column),
                                              __builtin_bit_cast(UnitHalves, row), sum, 0, 0, 0);
}
inline __device__ void multiply_add(Bf16, UnitFloats4& sum, UnitPair row, UnitPair column) {
  sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(
      __builtin_bit_cast(UnitBfloats, column), __builtin_bit_cast(UnitBfloats, row), sum, 0, 0, 0);
}
template <class Stored>
inline __device__ void multiply_add(Stored type, UnitFloats4& sum, const UnitWords (&row)[1],
                                    const UnitWords (&column)[1]) {
  multiply_add(type, sum, row[0].xy, column[0].xy);
  multiply_add(type, sum, row[0].zw, column[0].zw);
}

#elif defined(__GFX12__)

// Lane i has line i % 16 and eight elements of k. Of the results it has rows 8 (i / 16) to 8 (i /
// 16) + 7 of column i % 16.
struct Units {
  enum : unsigned { lanes = 32, wave_columns = 64, step = 16, operand_units = 1, results = 8 };
  using Results = UnitFloats8;
  static __device__ unsigned line(unsigned lane) { return lane % 16; }
  static __device__ unsigned column(unsigned lane) { return lane % 16; }
  static __device__ unsigned first_unit(unsigned lane) { return lane / 16; }
};

typedef _Float16 UnitHalves __attribute__((ext_vector_type(8)));
typedef short UnitBfloats __attribute__((ext_vector_type(8)));

inline __device__ void multiply_add(F16, UnitFloats8& sum, const UnitWords (&row)[1],
                                    const UnitWords (&column)[1]) {
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(
      __builtin_bit_cast(UnitHalves, column[0]), __builtin_bit_cast(UnitHalves, row[0]), sum);
}
inline __device__ void multiply_add(Bf16, UnitFloats8& sum, const UnitWords (&row)[1],
                                    const UnitWords (&column)[1]) {
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(
      __builtin_bit_cast(UnitBfloats, column[0]), __builtin_bit_cast(UnitBfloats, row[0]), sum);
}

#elif defined(__GFX11__)

// Lanes i and i + 16 have line i and all sixteen elements of k. Of the results lane i has rows i /
// 16, i / 16 + 2, ..., i / 16 + 14 of column i % 16: to have neighbours, columns 0 to 7 go to the
// even lines of the operand, and 8 to 15 to the odd ones.
struct Units {
  enum : unsigned { lanes = 32, wave_columns = 64, step = 16, operand_units = 2, results = 8 };
  using Results = UnitFloats8;
  static __device__ unsigned line(unsigned lane) { return lane % 16; }
  static __device__ unsigned column(unsigned lane) { return lane % 2 * 8 + lane % 16 / 2; }
  static __device__ unsigned first_unit(unsigned) { return 0; }
};

typedef uint32_t UnitPairs __attribute__((ext_vector_type(8)));
typedef _Float16 UnitHalves __attribute__((ext_vector_type(16)));
typedef short UnitBfloats __attribute__((ext_vector_type(16)));

inline __device__ UnitPairs join_units(const UnitWords (&units)[2]) {
  return __builtin_shufflevector(units[0], units[1], 0, 1, 2, 3, 4, 5, 6, 7);
}
inline __device__ void multiply_add(F16, UnitFloats8& sum, const UnitWords (&row)[2],
                                    const UnitWords (&column)[2]) {
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(
      __builtin_bit_cast(UnitHalves, join_units(column)),
      __builtin_bit_cast(UnitHalves, join_units(row)), sum);
}
inline __device__ void multiply_add(Bf16, UnitFloats8& sum, const UnitWords (&row)[2],
                                    const UnitWords (&column)[2]) {
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(
      __builtin_bit_cast(UnitBfloats, join_units(column)),
      __builtin_bit_cast(UnitBfloats, join_units(row)), sum);
}

#else
#error "of AMD's GPUs the matrix instructions of gfx942, gfx950, gfx11 and gfx12 are used"
#endif

constexpr unsigned unit_depth = 32;   // of the pieces in shared memory
constexpr unsigned unit_numbers = 8;  // in 16 bytes
constexpr unsigned line_units = unit_depth / unit_numbers;

// Shared memory holds lines along k. Units are permuted from line to line, so that eight lanes that
// read or write at a time do not share a bank.
inline __device__ unsigned unit_mix(unsigned line) { return (line >> 1 ^ line >> 3) & 3U; }
// The two parts of a line have no bit in common: few addresses are computed where one is constant.
inline __device__ unsigned unit_place(unsigned line, unsigned further, unsigned at) {
  return (line + further) * line_units + (at ^ unit_mix(line) ^ unit_mix(further));
}

// For computing a value where it is used: one that was computed before a loop takes registers from
// the sums.
inline __device__ unsigned thread_here() {
  unsigned thread = threadIdx.x;
  asm volatile("" : "+v"(thread));
  return thread;
}

inline __device__ UnitWords load_words(const void* from) {
  const uint4 unit = *static_cast<const uint4*>(from);
  return UnitWords{unit.x, unit.y, unit.z, unit.w};
}

// A thread's share of an operand's pieces: from memory to registers, and on to shared memory.
template <unsigned side, bool is_across>
struct UnitCopy {
  enum : unsigned {
    count = side * line_units / matmul_threads,  // units of a thread
    lines_at_once = matmul_threads / line_units,
    groups = side / unit_numbers  // of lines
  };
  const uint16_t* from;  // the thread's first unit of the piece
  uint64_t stride;       // to its next unit
  uint64_t piece_stride;
  unsigned rest;  // of the tile along its own axis
  UnitWords units[count];

  // Across: of each lines_at_once lines one unit. Else: of `count` following k eight lines.
  __device__ UnitCopy(const MatmulFactor& factor, const uint16_t* data, uint64_t first,
                      uint64_t begin)
      : stride(is_across ? lines_at_once * factor.stride : factor.k_stride),
        piece_stride(unit_depth * factor.k_stride),
        rest(factor.size - first < side ? static_cast<unsigned>(factor.size - first) : side) {
    from = data + (first + first_line(threadIdx.x)) * factor.stride +
           (begin + first_k(threadIdx.x)) * factor.k_stride;
  }
  static __device__ unsigned first_line(unsigned thread) {
    return is_across ? thread / line_units : thread % groups * unit_numbers;
  }
  static __device__ unsigned first_k(unsigned thread) {
    return is_across ? thread % line_units * unit_numbers : thread / groups * count;
  }

  // Reads the next piece, of which `left` elements of k exist; the others are 0.
  __device__ void load(uint64_t left) {
    if (left >= unit_depth && rest == side) {
#pragma unroll
      for (unsigned i = 0; i < count; ++i) {
        units[i] = load_words(from + i * stride);
      }
    } else {
      const unsigned thread = thread_here();
#pragma unroll
      for (unsigned i = 0; i < count; ++i) {
        const unsigned line = first_line(thread) + (is_across ? i * lines_at_once : 0);
        const unsigned k = first_k(thread) + (is_across ? 0 : i);
        const uint64_t there = is_across ? left : rest;
        const unsigned at = is_across ? k : line;
        const bool is_inside = line < rest && k < left;
        units[i] = load_part(from + i * stride, is_inside ? there - at : 0);
      }
    }
    from += piece_stride;
  }

  __device__ void store(uint4* to) const {
    const unsigned thread = thread_here();
    if constexpr (is_across) {
#pragma unroll
      for (unsigned i = 0; i < count; ++i) {
        to[unit_place(first_line(thread), i * lines_at_once, thread % line_units)] =
            hiptool_device::make_unit(units[i].x, units[i].y, units[i].z, units[i].w);
      }
    } else {
#pragma unroll
      for (unsigned j = 0; j < unit_numbers; ++j) {
        uint4* const unit = to + unit_place(first_line(thread), j, first_k(thread) / unit_numbers);
        auto* const words = reinterpret_cast<uint32_t*>(unit) + first_k(thread) % unit_numbers / 2;
#pragma unroll
        for (unsigned i = 0; i < count; i += 2) {
          const uint32_t low = units[i][j / 2] >> (j % 2 * 16) & 0xFFFFU;
          const uint32_t high = units[i + 1][j / 2] >> (j % 2 * 16);
          words[i / 2] = low | high << 16;
        }
      }
    }
  }

 private:
  // The bytes after the last number are on its page: the unit is aligned.
  static __device__ UnitWords load_part(const uint16_t* data, uint64_t there) {
    UnitWords unit = {0, 0, 0, 0};
    if (there == 0) return unit;
    unit = load_words(data);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (there < 2 * i + 2) unit[i] &= there > 2 * i ? 0xFFFFU : 0;
    }
    return unit;
  }
};

// What a wave computes: 64 rows and Units::wave_columns columns of a tile.
struct UnitSums {
  enum : unsigned { rows = 64 / 16, columns = Units::wave_columns / 16 };
  Units::Results at[rows][columns];

  template <class Stored>
  __device__ void add_piece(Stored type, const uint4* of_a, const uint4* of_b, unsigned row,
                            unsigned column) {
    constexpr unsigned units = Units::operand_units;
    constexpr unsigned step_units = Units::step / unit_numbers;
    const unsigned lane = threadIdx.x % Units::lanes;
#pragma unroll
    for (unsigned step = 0; step < unit_depth / Units::step; ++step) {
      const unsigned unit = step * step_units + Units::first_unit(lane);
      UnitWords a[rows][units];
#pragma unroll
      for (unsigned i = 0; i < rows; ++i) load(of_a, row + Units::line(lane), 16 * i, unit, a[i]);
#pragma unroll
      for (unsigned j = 0; j < columns; ++j) {
        // Else clang 19 reads all operands at once, for which gfx11 has too few registers.
        if constexpr (units > 1) __builtin_amdgcn_sched_barrier(0);
        UnitWords b[units];
        load(of_b, column + Units::column(lane), 16 * j, unit, b);
#pragma unroll
        for (unsigned i = 0; i < rows; ++i) multiply_add(type, at[i][j], a[i], b);
      }
    }
  }

  // The sums of the first 16 x 16 make room for the next ones.
  __device__ void next_columns() {
#pragma unroll
    for (unsigned j = 1; j < columns; ++j) at[0][j - 1] = at[0][j];
  }
  __device__ void next_rows() {
#pragma unroll
    for (unsigned i = 1; i < rows; ++i) {
#pragma unroll
      for (unsigned j = 0; j < columns; ++j) at[i - 1][j] = at[i][j];
    }
  }

 private:
  template <unsigned count>
  static __device__ void load(const uint4* from, unsigned line, unsigned further, unsigned first,
                              UnitWords (&to)[count]) {
#pragma unroll
    for (unsigned i = 0; i < count; ++i) {
      to[i] = load_words(from + unit_place(line, further, first + i));
    }
  }
};

// Reads the next piece while this one is multiplied.
template <class Stored, bool a_across, bool b_across>
__forceinline__ __device__ void multiply_by_units(const Matmul& all, uint64_t work, const Stored* a,
                                                  const Stored* b, Stored* out, float* partial) {
  constexpr unsigned a_units = matmul_unit_rows * line_units;
  constexpr unsigned b_units = matmul_unit_columns * line_units;
  constexpr unsigned waves_beside = matmul_unit_columns / Units::wave_columns;
  static_assert((a_units + b_units) * 16 == matmul_unit_piece_bytes, "the host knows the size");
  static_assert(matmul_unit_stages * matmul_unit_piece_bytes <= 64 * 1024, "all that a block has");
  uint4* const shared = hiptool_device::dynamic_shared();
  const TilePlace place(all, work);
  uint64_t bases[3];
  find_places(all.batches, place.batch, bases);
  const unsigned wave = threadIdx.x / Units::lanes;
  const unsigned lane = threadIdx.x % Units::lanes;
  const unsigned row = wave / waves_beside * 64;
  const unsigned column = wave % waves_beside * Units::wave_columns;
  const uint64_t begin = place.chunk * all.chunk;
  uint64_t left = all.k - begin < all.chunk ? all.k - begin : all.chunk;  // not yet read
  UnitCopy<matmul_unit_rows, a_across> of_a(all.a, reinterpret_cast<const uint16_t*>(a + bases[0]),
                                            place.row * matmul_unit_rows, begin);
  UnitCopy<matmul_unit_columns, b_across> of_b(all.b,
                                               reinterpret_cast<const uint16_t*>(b + bases[1]),
                                               place.column * matmul_unit_columns, begin);
  const auto read = [&] {
    of_a.load(left);
    of_b.load(left);
    left = left < unit_depth ? 0 : left - unit_depth;
  };
  const auto write = [&](unsigned stage) {
    of_a.store(shared + stage * (a_units + b_units));
    of_b.store(shared + stage * (a_units + b_units) + a_units);
  };

  UnitSums sums = {};
  read();
  write(0);
  __syncthreads();
#pragma unroll 1
  for (unsigned stage = 0;; stage ^= 1) {
    const bool is_last = left == 0;
    if (!is_last) read();
    const uint4* const piece = shared + stage * (a_units + b_units);
    sums.add_piece(Stored(), piece, piece + a_units, row, column);
    // The other piece is free: all threads have multiplied it.
    if (!is_last) write(stage ^ 1);
    __syncthreads();
    if (is_last) break;
  }

  const uint64_t matrix = place.batch * all.chunks + place.chunk;
  float* const kept = partial + matrix * all.a.size * all.b.size;
  // The next sums move to the front each time, so that there is one copy of the code.
#pragma unroll 1
  for (unsigned i = 0; i < UnitSums::rows; ++i) {
    const uint64_t at_row = place.row * matmul_unit_rows + row + 16 * i + lane % 16;
#pragma unroll 1
    for (unsigned j = 0; j < UnitSums::columns; ++j) {
#pragma unroll
      for (unsigned k = 0; k < Units::results; k += matmul_piece) {
        const uint64_t at_column =
            place.column * matmul_unit_columns + column + 16 * j + lane / 16 * Units::results + k;
        float four[matmul_piece];
#pragma unroll
        for (unsigned l = 0; l < matmul_piece; ++l) four[l] = sums.at[0][0][k + l];
        if (all.chunks == 1) {
          finish(all, out + bases[2], at_row, at_column, four);
        } else {
          keep(all, kept, at_row, at_column, four);
        }
      }
      sums.next_columns();
    }
    sums.next_rows();
  }
}

}  // namespace hiptool_ops
