// SPDX-License-Identifier: MIT
/// Small kernels as a .hip source would write them.
#include <hiptool_cpu_kernel.h>

/// Arguments of mixed sizes: the C ABI puts gaps between them.
struct Odd {
  char text[5];
  short number;
};

extern "C" __global__ void test_vector_add(const float* a, const float* b, float* sum, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

/// One partial sum for each block of at most 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    test_block_sum(const unsigned* values, unsigned* sums, unsigned n) {
  __shared__ unsigned tile[256];
  const unsigned own = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x + own;
  tile[own] = i < n ? values[i] : 0;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (own < step) tile[own] += tile[own + step];
    __syncthreads();
  }
  if (own == 0) sums[blockIdx.x] = tile[0];
}

static __device__ __forceinline__ float warp_sum(float value) {
  for (int step = warpSize / 2; step > 0; step /= 2) {
    value += __shfl_down(value, static_cast<unsigned>(step));
  }
  return value;
}

/// The sum of a warp in its first lane, all the others' too by the way.
extern "C" __global__ void test_warp_sums(const float* values, float* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = warp_sum(values[i]);
  if (threadIdx.x % static_cast<unsigned>(warpSize) == 0) {
    sums[i / static_cast<unsigned>(warpSize)] = sum;
  }
}

/// Each kind of shuffle in parts 16 lanes wide, row by row.
extern "C" __global__ void test_shuffles(int* from_3, unsigned* up_2, std::uint64_t* down_5,
                                         std::int64_t* mirrored) {
  const unsigned i = threadIdx.x;
  from_3[i] = __shfl(static_cast<int>(i), 3, 16);
  up_2[i] = __shfl_up(i, 2, 16);
  down_5[i] = __shfl_down(std::uint64_t{i} << 40, 5, 16);
  mirrored[i] = __shfl_xor(-static_cast<std::int64_t>(i), 15, 16);
}

/// Lanes that have ended give nothing: the asking lane keeps its own value.
extern "C" __global__ void test_half_warp(int* values) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= 8) return;
  values[i] = __shfl_down(i, 4);
}

/// Lanes leave the loop at different turns and meet again behind it.
extern "C" __global__ void test_uneven_loop(int* values) {
  const int i = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int turn = 0; turn <= i % 4; ++turn) sum += __shfl(turn, 3);
  values[i] = __shfl_xor(sum, 1);
}

struct Widest {
  static __device__ long long join(long long a, long long b) { return a + b; }
};

struct Difference {
  static __device__ int join(int a, int b) { return a - 3 * b; }
};

/// A join of lanes at once, and by exchanges; lanes from `end` on take no part.
extern "C" __global__ void test_join_lanes(int* at_once, int* by_exchanges, int end) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= end) return;
  int pair[2] = {i * i, i};
  hiptool_cpu::join_across<Difference, 8, 2, 2>(pair);
  at_once[i] = pair[0] * 1000 + pair[1];
  int first = i * i;
  int second = i;
  for (int distance = 8; distance >= 2; distance /= 2) {
    first = Difference::join(first, __shfl_xor(first, distance, 32));
    second = Difference::join(second, __shfl_xor(second, distance, 32));
  }
  by_exchanges[i] = first * 1000 + second;
}

/// Joins of two types at one line, by lanes of one warp.
extern "C" __global__ void test_joins_apart(int* values) {
  const int i = static_cast<int>(threadIdx.x);
  constexpr int line = 1;
  if (i % 2 == 0) {
    values[i] = 1;
    hiptool_cpu::join_across<Difference, 1, 1, 1>(&values[i], line);
  } else {
    long long wide = 5;
    hiptool_cpu::join_across<Widest, 1, 1, 1>(&wide, line);
    values[i] = static_cast<int>(wide);
  }
}

/// The first thread works for all and says so; the others would add to the count.
extern "C" __global__ void test_work_alone(int* begun, int waits) {
  atomicAdd(begun, 1);
  if (threadIdx.x != 0) return;
  hiptool_cpu::work_alone();
  if (waits != 0) __syncthreads();
}

extern "C" __global__ void test_reverse(const int* values, int* reversed) {
  HIP_DYNAMIC_SHARED(int, tile);
  tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  reversed[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

struct Counters {
  unsigned sum;
  unsigned lowest;
  unsigned highest;
  unsigned bits;
  unsigned long long wide_sum;
  unsigned long long wide_lowest;
  unsigned long long wide_highest;
  float real_sum;
};

extern "C" __global__ void test_atomics(Counters* counters) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&counters->sum, 1);
  atomicMin(&counters->lowest, i);
  atomicMax(&counters->highest, i);
  atomicOr(&counters->bits, 1u << (i % 32));
  atomicAdd(&counters->wide_sum, 1ull << 32);
  atomicMin(&counters->wide_lowest, i + (1ull << 40));
  atomicMax(&counters->wide_highest, i + (1ull << 40));
  atomicAdd(&counters->real_sum, 0.5f);
}

extern "C" __global__ void test_mixed(char a, double b, Odd c, unsigned short d, const double* e,
                                      bool f, double* result) {
  *result = a + b + c.text[4] + c.number + d + *e + (f ? 0.5 : 0);
}

extern "C" __global__ void test_nothing() {}

/// Writes how the launch looks from each thread.
extern "C" __global__ void test_places(unsigned* places) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned place = block * blockDim.x * blockDim.y * blockDim.z + thread;
  __syncthreads();
  atomicAdd(&places[place], place + 1);
}

extern "C" __global__ void test_copy16(const float* from, uint4* to) {
  to[threadIdx.x] = reinterpret_cast<const uint4*>(from)[threadIdx.x];
}

extern "C" __global__ void test_divergent_barrier(int* values) {
  if (threadIdx.x < 5) __syncthreads();
  values[threadIdx.x] = 1;
}

extern "C" __global__ void test_two_barriers(int* values) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  values[threadIdx.x] = 1;
}

HIPTOOL_EXPORT(test_vector_add);
HIPTOOL_EXPORT(test_block_sum);
HIPTOOL_EXPORT(test_warp_sums);
HIPTOOL_EXPORT(test_shuffles);
HIPTOOL_EXPORT(test_half_warp);
HIPTOOL_EXPORT(test_uneven_loop);
HIPTOOL_EXPORT(test_join_lanes);
HIPTOOL_EXPORT(test_joins_apart);
HIPTOOL_EXPORT(test_work_alone);
HIPTOOL_EXPORT(test_reverse);
HIPTOOL_EXPORT(test_atomics);
HIPTOOL_EXPORT(test_mixed);
HIPTOOL_EXPORT(test_nothing);
HIPTOOL_EXPORT(test_places);
HIPTOOL_EXPORT(test_copy16);
HIPTOOL_EXPORT(test_divergent_barrier);
HIPTOOL_EXPORT(test_two_barriers);
