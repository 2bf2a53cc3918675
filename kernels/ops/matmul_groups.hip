// SPDX-License-Identifier: MIT
// Products of matrices of 16-bit numbers by the matrix instructions of four warps (wgmma), which
// only compute capability 9.0 has, sums in f32: a block computes 128 x 256 results, each of its two
// groups of four warps 64 x 256. The host launches it only there. On the processor the
// instruction is imitated, so that tests check where operands are.
#if defined(__AMDGCN__)
#error "matrix instructions of four warps are NVIDIA's"
#endif
#include "hiptool_unit_tiles.h"

using namespace hiptool_device;

namespace hiptool_ops {

constexpr unsigned step = 16;        // elements of k of one instruction
constexpr unsigned group_rows = 64;  // of results
constexpr unsigned group_threads = 128;
constexpr unsigned stages = matmul_group_stages;
constexpr unsigned swizzled_line = 128;  // that swizzling permutes, among eight lines
constexpr unsigned swizzled_bytes = 8 * swizzled_line;

using Sums = float[32][4];

// Where units of an operand's tile are in shared memory: in lines of 128 bytes along the axis of
// neighbours, permuted as "128-Byte swizzle mode" (PTX ISA, asynchronous warpgroup level matrix
// shared memory layout). Along its own axis a line is part of as many panels as are needed.
template <unsigned side_, bool is_across_>
struct GroupPlaces {
  enum : unsigned {
    side = side_,
    depth = swizzled_line / 2,
    is_across = is_across_,
    threads = matmul_threads,
    fetches_more = true,
    line_bytes = swizzled_line,
    panel_bytes = (is_across_ ? side : depth) * line_bytes,
    step_bytes = is_across_ ? step * 2 : step * line_bytes,  // from one instruction to the next
    group_bytes = group_rows * line_bytes  // of 64 lines, or of a panel of 64 lines
  };

  static __device__ uint32_t offset(unsigned line, unsigned at) {
    return at / 8 * panel_bytes + line * line_bytes + ((at ^ line) & 7U) * 16;
  }
};

// The matrix descriptor of what begins at that address: bits 0 to 13 of it, bits 16 to 29 the bytes
// from panel to panel, bits 32 to 45 those from eight lines to the next, all in units of 16 bytes,
// and 1 for 128-byte swizzling from bit 62 on.
template <class Places>
inline __device__ uint64_t descriptor(uint32_t address) {
  constexpr uint64_t constants = static_cast<uint64_t>(1) << 62 |
                                 static_cast<uint64_t>(swizzled_bytes / 16) << 32 |
                                 static_cast<uint64_t>(Places::panel_bytes / 16) << 16;
  return constants | address / 16;
}

#if defined(__CUDA__) || defined(__CUDACC__)

// Makes what this thread wrote to shared memory visible to the matrix instructions of all threads.
template <unsigned later>
inline __device__ void await_part() {
  await_own_copies<later>();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}
inline __device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline __device__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <unsigned later>
inline __device__ void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(later) : "memory");
}

#define HIPTOOL_SUMS(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define HIPTOOL_SUMS_8(i)                                                         \
  HIPTOOL_SUMS(i), HIPTOOL_SUMS(i + 1), HIPTOOL_SUMS(i + 2), HIPTOOL_SUMS(i + 3), \
      HIPTOOL_SUMS(i + 4), HIPTOOL_SUMS(i + 5), HIPTOOL_SUMS(i + 6), HIPTOOL_SUMS(i + 7)
#define HIPTOOL_ALL_SUMS \
  HIPTOOL_SUMS_8(0), HIPTOOL_SUMS_8(8), HIPTOOL_SUMS_8(16), HIPTOOL_SUMS_8(24)

// The sums are complete from here on.
inline __device__ void await_sums(Sums& c) {
  await_products<0>();
  asm volatile("" : HIPTOOL_ALL_SUMS::"memory");
}

#define HIPTOOL_MULTIPLY_ADD(Stored, type)                                                       \
  template <unsigned a_turned, unsigned b_turned>                                                \
  inline __device__ void multiply_add(Stored, Sums& c, uint64_t a, uint64_t b) {                 \
    asm volatile(                                                                                \
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type                             \
        " "                                                                                      \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "       \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "       \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "       \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "       \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "       \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
        "%111, "                                                                                 \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "   \
        "%126, %127}, "                                                                          \
        "%128, %129, 1, 1, 1, %130, %131;"                                                       \
        : HIPTOOL_ALL_SUMS                                                                       \
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));                                         \
  }
HIPTOOL_MULTIPLY_ADD(F16, "f16")
HIPTOOL_MULTIPLY_ADD(Bf16, "bf16")
#undef HIPTOOL_MULTIPLY_ADD
#undef HIPTOOL_ALL_SUMS
#undef HIPTOOL_SUMS_8
#undef HIPTOOL_SUMS

#else

template <unsigned later>
inline __device__ void await_part() {
  __syncthreads();
}
inline __device__ void begin_products() {}
inline __device__ void end_products() {}
template <unsigned later>
inline __device__ void await_products() {}
inline __device__ void await_sums(Sums&) {}

// Element k of a line's own axis, found as the instruction finds it: the permutation is one of bits
// of the address.
template <class Stored>
inline __device__ Stored element_at(uint64_t what, bool is_turned, unsigned own, unsigned k) {
  const auto field = [what](unsigned bit) {
    return static_cast<uint32_t>(what >> bit & 0x3FFF) * 16;
  };
  const unsigned line = is_turned ? k : own;
  const unsigned inner = is_turned ? own : k;
  const uint32_t at = field(0) + inner / 64 * field(16) + line / 8 * field(32) +
                      line % 8 * swizzled_line + inner % 64 * 2;
  Stored element;
  __builtin_memcpy(&element, shared_bytes(at ^ (at >> 3 & 0x70)), 2);
  return element;
}

template <unsigned a_turned, unsigned b_turned, class Stored>
inline __device__ void multiply_add(Stored, Sums& c, uint64_t a, uint64_t b) {
  const unsigned row = threadIdx.x % group_threads / 32 * 16 + threadIdx.x % 32 / 4;
  const unsigned column = threadIdx.x % 4 * 2;
  for (unsigned k = 0; k < step; ++k) {
    float rows[2];
    for (unsigned i = 0; i < 2; ++i) {
      rows[i] = factor_of(element_at<Stored>(a, a_turned, row + 8 * i, k));
    }
    for (unsigned j = 0; j < 32; ++j) {
      for (unsigned i = 0; i < 2; ++i) {
        const float right = factor_of(element_at<Stored>(b, b_turned, column + 8 * j + i, k));
        c[j][i] = fused(rows[0], right, c[j][i]);
        c[j][2 + i] = fused(rows[1], right, c[j][2 + i]);
      }
    }
  }
}

#endif

// What a block does with the parts of a tile's pieces one after the other. Copies of halves have
// more time than copies of whole pieces; lines of b that are along k would be too short for them.
template <class Stored, bool a_across, bool b_across>
struct GroupLoop {
  enum : unsigned {
    parts = b_across ? 1 : 2,
    places = stages * parts,
    ahead = places - 2  // parts that are copied; one is read, one still may be
  };
  using TileA = UnitTile<GroupPlaces<matmul_unit_rows, a_across>, parts>;
  using TileB = UnitTile<GroupPlaces<matmul_unit_columns, b_across>, parts>;
  static_assert(unsigned(TileA::bytes) + unsigned(TileB::bytes) == matmul_group_piece_bytes,
                "the host knows the size");

  TilePlace place;
  TileA of_a;
  TileB of_b;
  uint32_t shared_a;
  uint32_t shared_b;
  uint64_t count;  // of parts that are not yet multiplied
  uint64_t left;   // elements of k that are not yet copied
  uint64_t out_base;
  unsigned part;  // the place of the next one to multiply

  __device__ GroupLoop(const Matmul& all, const TilePlace& at, const uint64_t (&bases)[3],
                       const Stored* a, const Stored* b, uint32_t shared)
      : place(at),
        of_a(all.a, reinterpret_cast<const uint16_t*>(a + bases[0]), at.row * matmul_unit_rows,
             at.chunk * all.chunk, shared),
        of_b(all.b, reinterpret_cast<const uint16_t*>(b + bases[1]),
             at.column * matmul_unit_columns, at.chunk * all.chunk, shared + stages * TileA::bytes),
        shared_a(shared + threadIdx.x / group_threads * TileA::group_bytes),
        shared_b(shared + stages * TileA::bytes),
        left(all.k - at.chunk * all.chunk),
        out_base(bases[2]),
        part(0) {
    if (left > all.chunk) left = all.chunk;
    count = (left + TileA::depth - 1) / TileA::depth;
  }

  __device__ bool is_inside() const {
    return of_a.rest == matmul_unit_rows && of_b.rest == matmul_unit_columns;
  }

  template <bool is_whole>
  __forceinline__ __device__ void copy_next(unsigned to) {
    if constexpr (is_whole) {
      of_a.begin(to);
      of_b.begin(to);
      left -= TileA::depth;
    } else if (left > 0) {
      of_a.begin(to, left);
      of_b.begin(to, left);
      left = left < TileA::depth ? 0 : left - TileA::depth;
    }
    end_stage();
  }

  // Starts the first copies, when nothing reads shared memory.
  __forceinline__ __device__ void begin() {
#pragma unroll 1
    for (unsigned to = 0; to < ahead; ++to) copy_next<false>(to);
  }

  // The descriptor of the next part.
  template <class Tile>
  __forceinline__ __device__ uint64_t next_of(uint32_t shared) const {
    constexpr unsigned part_bytes = Tile::depth / step * Tile::step_bytes;
    return descriptor<Tile>(shared + part / parts * Tile::bytes + part % parts * part_bytes);
  }

  template <bool is_whole>
  __forceinline__ __device__ void multiply_part(Sums& sum) {
    await_part<ahead - 1>();
    const uint64_t a = next_of<TileA>(shared_a);
    const uint64_t b = next_of<TileB>(shared_b);
    // A group has one instruction for all its warps; an imitation skips unused rows.
    const bool is_used = !is_imitation || threadIdx.x / 32 * 16 < of_a.rest;
    begin_products();
#pragma unroll
    for (unsigned i = 0; is_used && i < TileA::depth / step; ++i) {
      multiply_add<!a_across, !b_across>(Stored(), sum, a + i * (TileA::step_bytes / 16),
                                         b + i * (TileB::step_bytes / 16));
    }
    end_products();
    // All have waited for the products of the last part but one, whose place this is.
    copy_next<is_whole>((part + ahead) % places);
    part = (part + 1) % places;
    await_products<1>();
  }

  __forceinline__ __device__ void multiply(Sums& sum) {
    // A loop of its own for parts after which others are copied whole, without tests for the rest.
    if (is_inside()) {
#pragma unroll 1
      for (; left >= TileA::depth; --count) multiply_part<true>(sum);
    }
#pragma unroll 1
    for (; count > 0; --count) multiply_part<false>(sum);
    await_sums(sum);
    __syncthreads();
  }
};

// Of two threads `bit` apart, exchanges the second word of the first one and the first word of the
// second one.
inline __device__ void exchange(uint32_t& first, uint32_t& second, unsigned bit) {
  const uint32_t words[2] = {first, second};
  const bool is_second = (threadIdx.x & bit) != 0;
  const uint32_t sent = is_second ? words[0] : words[1];
  const uint32_t received = __shfl_xor(sent, static_cast<int>(bit));
  first = is_second ? received : words[0];
  second = is_second ? words[1] : received;
}

// The results of a thread inside the tensor, where they are only narrowed: four threads, which have
// two neighbours of every eight, exchange them, so that each stores eight.
template <class Stored>
__forceinline__ __device__ void store_sums(float alpha, Stored* to, uint64_t stride, Sums& sum) {
  to += threadIdx.x % 4 * 8;
#pragma unroll 1
  for (unsigned i = 0; i < 8; ++i) {
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      uint32_t words[4];
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        const uint32_t low = Element<Stored>::narrow(alpha * sum[j][2 * k]).bits;
        const uint32_t high = Element<Stored>::narrow(alpha * sum[j][2 * k + 1]).bits;
        words[j] = high << 16 | low;
      }
      exchange(words[0], words[1], 1);
      exchange(words[2], words[3], 1);
      exchange(words[0], words[2], 2);
      exchange(words[1], words[3], 2);
      const uint4 unit = make_unit(words[0], words[1], words[2], words[3]);
      move_bytes<16>(to + 8 * k * stride, &unit);
    }
    to += 32;
    // The next sums move to the front, so that there is one copy of the code.
#pragma unroll
    for (unsigned j = 4; j < 32; ++j) {
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) sum[j - 4][k] = sum[j][k];
    }
  }
}

// The same at edges of the tensor, and where results are added to it or are parts of sums.
template <class Stored>
__forceinline__ __device__ void finish_sums(const Matmul& all, const TilePlace& place, Stored* out,
                                            float* partial, uint64_t row, uint64_t column,
                                            Sums& sum) {
#pragma unroll 1
  for (unsigned j = 0; j < 32; ++j) {
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      finish_two(all, place, out, partial, row + 8 * k, column + 8 * j, sum[0] + 2 * k);
    }
#pragma unroll
    for (unsigned next = 1; next < 32; ++next) {
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) sum[next - 1][k] = sum[next][k];
    }
  }
}

template <class Stored, bool a_across, bool b_across>
__forceinline__ __device__ GroupLoop<Stored, a_across, b_across> loop_of(const Matmul& all,
                                                                         uint64_t work,
                                                                         const Stored* a,
                                                                         const Stored* b) {
  const TilePlace place(all, work);
  uint64_t bases[3];
  find_places(all.batches, place.batch, bases);
  const uint32_t shared = shared_address(dynamic_shared());
  return {all, place, bases, a, b, (shared + swizzled_bytes - 1) / swizzled_bytes * swizzled_bytes};
}

template <class Stored, bool a_across, bool b_across>
__forceinline__ __device__ void multiply_by_groups(const Matmul& all, const Stored* a,
                                                   const Stored* b, Stored* out, float* partial) {
  const uint64_t tiles = all.row_tiles * all.column_tiles * all.chunks * all.batches.count;
  uint64_t work = blockIdx.x;
  if (work >= tiles) return;
  const unsigned lane = threadIdx.x % 32;
  const unsigned row_inside = threadIdx.x / 32 * 16 + lane / 4;
  auto loop = loop_of<Stored, a_across, b_across>(all, work, a, b);
  loop.begin();
#pragma unroll 1
  while (work < tiles) {
    Sums sum = {};
    loop.multiply(sum);
    const TilePlace place = loop.place;
    const uint64_t row = place.row * matmul_unit_rows + row_inside;
    const uint64_t column = place.column * matmul_unit_columns + lane % 4 * 2;
    Stored* const to = out + loop.out_base;
    const bool has_units =
        (reinterpret_cast<uint64_t>(to) | all.out_stride * sizeof(Stored)) % 16 == 0;
    const bool is_plain =
        has_units && all.out_pieces && !all.reads_out && all.chunks == 1 && loop.is_inside();
    // The first pieces of the next tile are copied while results of this one are stored.
    work += gridDim.x;
    if (work < tiles) {
      loop = loop_of<Stored, a_across, b_across>(all, work, a, b);
      loop.begin();
    }
    if (is_plain) {
      store_sums(static_cast<float>(all.alpha),
                 to + row * all.out_stride + place.column * matmul_unit_columns, all.out_stride,
                 sum);
    } else {
      finish_sums(all, place, to, partial, row, column, sum);
    }
  }
}

}  // namespace hiptool_ops

// Operands are aligned to 16 bytes, and so are all their lines. Blocks of 256 threads have
// matmul_group_stages pieces of matmul_group_piece_bytes in shared memory, and 1024 bytes to begin
// at a multiple of that. n: neighbours as in a row-major matrix, t: in a transposed one.
#define HIPTOOL_KERNEL(type, Stored, layout, a_across, b_across)                                \
  extern "C" __global__ void __launch_bounds__(256) hiptool_matmul_groups_##type##_##layout(    \
      hiptool_ops::Matmul all, const Stored* a, const Stored* b, Stored* out, float* partial) { \
    hiptool_ops::multiply_by_groups<Stored, a_across, b_across>(all, a, b, out, partial);       \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_matmul_groups_##type##_##layout)
#define HIPTOOL_KERNELS(type, Stored)             \
  HIPTOOL_KERNEL(type, Stored, nn, true, false);  \
  HIPTOOL_KERNEL(type, Stored, nt, true, true);   \
  HIPTOOL_KERNEL(type, Stored, tn, false, false); \
  HIPTOOL_KERNEL(type, Stored, tt, false, true)

HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
