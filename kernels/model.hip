// SPDX-License-Identifier: MIT
// Row-wise steps of a language model in f32: rows have 4096 values, of which a thread keeps 16.
// Blocks have 256 threads, and 32 bytes of shared memory for softmax and the norms.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr unsigned columns = 4096;
constexpr unsigned threads = 256;
constexpr unsigned pieces = columns / threads / 4;

struct Row {
  float at[pieces * 4];
};

inline __device__ Row load_row(const uint4* from) {
  Row row;
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    read_unit(from[p * threads + threadIdx.x], row.at + 4 * p);
  }
  return row;
}

inline __device__ void store_row(uint4* to, const Row& row) {
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    to[p * threads + threadIdx.x] = make_unit(row.at + 4 * p);
  }
}

// e^x for x from -87 to 88, to which x is clamped: 2^n e^r with |r| <= ln 2 / 2, and as many terms
// of the series for e^r as a float can represent.
inline __device__ float exponential(float x) {
  x = x < -87.0F ? -87.0F : x > 88.0F ? 88.0F : x;
  constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: its last bit is 1
  const float shifted = __fmaf_rn(x, 1.44269504F, rounder);
  const float n = shifted - rounder;
  float r = __fmaf_rn(n, -0.693145752F, x);  // ln 2 in two parts, the first with 15 bits
  r = __fmaf_rn(n, -1.42860677e-6F, r);
  float sum = 1.0F / 5040;
  sum = __fmaf_rn(sum, r, 1.0F / 720);
  sum = __fmaf_rn(sum, r, 1.0F / 120);
  sum = __fmaf_rn(sum, r, 1.0F / 24);
  sum = __fmaf_rn(sum, r, 1.0F / 6);
  sum = __fmaf_rn(sum, r, 0.5F);
  sum = __fmaf_rn(sum, r, 1.0F);
  sum = __fmaf_rn(sum, r, 1.0F);
  // The lowest bits of the shifted number are n.
  const uint32_t exponent = (__float_as_uint(shifted) - __float_as_uint(rounder)) << 23;
  return __uint_as_float(__float_as_uint(sum) + exponent);
}

struct Largest {
  static __device__ float join(float a, float b) { return a < b ? b : a; }
};

template <class Join>
inline __device__ float join_values(const Row& row) {
  float value = row.at[0];
#pragma unroll
  for (unsigned i = 1; i < pieces * 4; ++i) value = Join::join(value, row.at[i]);
  return value;
}

// The values of the rows of all threads; every thread gets the result.
template <class Join>
inline __device__ float join_row(const Row& row) {
  auto* const groups = reinterpret_cast<float*>(dynamic_shared());
  return join_block<Join, threads>(join_values<Join>(row), groups);
}

struct Softmax {
  static __device__ void apply(Row& row, const uint4*) {
    const float largest = join_row<Largest>(row);
    for (float& value : row.at) value = exponential(value - largest);
    const float scale = 1.0F / join_row<Sum>(row);
    for (float& value : row.at) value *= scale;
  }
};

inline __device__ float mean_of_squares(const Row& row) {
  Row squares;
#pragma unroll
  for (unsigned i = 0; i < pieces * 4; ++i) squares.at[i] = row.at[i] * row.at[i];
  return join_row<Sum>(squares) / columns;
}

struct RmsNorm {
  static __device__ void apply(Row& row, const uint4* weights) {
    const float scale = 1.0F / __fsqrt_rn(mean_of_squares(row) + 1e-5F);
    const Row weight = load_row(weights);
#pragma unroll
    for (unsigned i = 0; i < pieces * 4; ++i) row.at[i] = row.at[i] * scale * weight.at[i];
  }
};

struct LayerNorm {
  static __device__ void apply(Row& row, const uint4* weights) {
    const float mean = join_row<Sum>(row) / columns;
    for (float& value : row.at) value -= mean;
    const float scale = 1.0F / __fsqrt_rn(mean_of_squares(row) + 1e-5F);
    const Row weight = load_row(weights);
    const Row bias = load_row(weights + columns / 4);
#pragma unroll
    for (unsigned i = 0; i < pieces * 4; ++i) {
      row.at[i] = __fmaf_rn(row.at[i] * scale, weight.at[i], bias.at[i]);
    }
  }
};

template <class Step>
inline __device__ void each_row(const uint4* in, const uint4* weights, uint4* out, uint64_t rows) {
  for (uint64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    Row row = load_row(in + i * (columns / 4));
    Step::apply(row, weights);
    store_row(out + i * (columns / 4), row);
  }
}

inline __device__ float swish_times(float gate, float up) {
  return gate / (1.0F + exponential(-gate)) * up;
}

}  // namespace

// out[row] = e^in / sum of e^in
extern "C" __global__ void __launch_bounds__(256)
    hiptool_softmax_f32(const uint4* in, const uint4* weights, uint4* out, uint64_t rows) {
  each_row<Softmax>(in, weights, out, rows);
}

// out[row] = in / sqrt(mean of squares + 1e-5) * weight
extern "C" __global__ void __launch_bounds__(256)
    hiptool_rmsnorm_f32(const uint4* in, const uint4* weights, uint4* out, uint64_t rows) {
  each_row<RmsNorm>(in, weights, out, rows);
}

// out[row] = (in - mean) / sqrt(variance + 1e-5) * weight + bias; biases follow the weights
extern "C" __global__ void __launch_bounds__(256)
    hiptool_layernorm_f32(const uint4* in, const uint4* weights, uint4* out, uint64_t rows) {
  each_row<LayerNorm>(in, weights, out, rows);
}

// Turns each pair of values by the angle of its column, whose cosine and sine are in `weights`.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_rope_f32(const uint4* in, const uint4* weights, uint4* out, uint64_t rows) {
  for (uint64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    Row row = load_row(in + i * (columns / 4));
    const Row turn = load_row(weights);
#pragma unroll
    for (unsigned k = 0; k < pieces * 4; k += 2) {
      const float x = row.at[k];
      const float y = row.at[k + 1];
      row.at[k] = x * turn.at[k] - y * turn.at[k + 1];
      row.at[k + 1] = x * turn.at[k + 1] + y * turn.at[k];
    }
    store_row(out + i * (columns / 4), row);
  }
}

// out = swish(gate) up; `in` holds the rows of gate, `weights` those of up
extern "C" __global__ void __launch_bounds__(256)
    hiptool_swiglu_f32(const uint4* in, const uint4* weights, uint4* out, uint64_t rows) {
  for (uint64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    Row row = load_row(in + i * (columns / 4));
    const Row up = load_row(weights + i * (columns / 4));
#pragma unroll
    for (unsigned k = 0; k < pieces * 4; ++k) row.at[k] = swish_times(row.at[k], up.at[k]);
    store_row(out + i * (columns / 4), row);
  }
}

HIPTOOL_EXPORT(hiptool_softmax_f32);
HIPTOOL_EXPORT(hiptool_rmsnorm_f32);
HIPTOOL_EXPORT(hiptool_layernorm_f32);
HIPTOOL_EXPORT(hiptool_rope_f32);
HIPTOOL_EXPORT(hiptool_swiglu_f32);
