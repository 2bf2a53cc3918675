// SPDX-License-Identifier: MIT
// Softmax and normalisation of rows. Rows of up to 512 elements have 32 threads, longer ones a
// block of 256. Elements go in runs of 16 bytes to the threads in turn, each thread adds its
// elements in order, and the threads are joined by join_32 or join_block: the order of a sum
// follows from the row's width and type alone. A row that fits shared memory is read once.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_math.h"
#include "hiptool_norms.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

// A row of one thread's group.
template <class Stored>
struct Row {
  using Value = typename Element<Stored>::Value;
  enum : unsigned { length = Run<Stored>::length };

  unsigned group;
  unsigned lane;
  uint64_t width;  // 0 for a group without a row
  bool is_stashed;
  bool has_pieces;
  uint64_t stride;
  const Stored* in;

  __device__ Stored* stash(uint64_t turn) const {
    uint4* const pieces = hiptool_device::dynamic_shared() + join_bytes / 16;
    return reinterpret_cast<Stored*>(pieces + turn * row_threads + threadIdx.x);
  }

  // Calls body(first, valid, values) for all runs that are this thread's.
  template <bool is_first, class Body>
  __forceinline__ __device__ void each_run(Body body) const {
    const uint64_t step = static_cast<uint64_t>(group) * length;
    uint64_t turn = 0;
#pragma unroll 1
    for (uint64_t first = lane * static_cast<uint64_t>(length); first < width; first += step) {
      const uint64_t rest = width - first;
      const unsigned valid = rest < length ? static_cast<unsigned>(rest) : length;
      Stored run[length];
      if (!is_first && is_stashed) {
        load_piece<length>(stash(turn), run);
      } else if (has_pieces) {
        load_piece<length>(in + first, run);
      } else {
#pragma unroll
        for (unsigned k = 0; k < length; ++k) run[k] = in[(first + (k < valid ? k : 0)) * stride];
      }
      if (is_first && is_stashed) store_piece<length>(stash(turn), run);
      ++turn;
      Value values[length];
#pragma unroll
      for (unsigned k = 0; k < length; ++k) values[k] = Element<Stored>::widen(run[k]);
      body(first, valid, values);
    }
  }

  template <class Join, class Joined>
  __forceinline__ __device__ Joined join(Joined value) const {
    if (group == 32) return hiptool_device::join_32<Join>(value);
    void* const shared = hiptool_device::dynamic_shared();
    return hiptool_device::join_block<Join, row_threads>(value, static_cast<Joined*>(shared));
  }
};

// A run of the output, or of weights.
template <unsigned length, class Stored>
__forceinline__ __device__ void store_row(const Rows& all, Stored* out, uint64_t first,
                                          unsigned valid, const Stored* run) {
  if ((all.pieces & 2U) != 0) {
    store_piece<length>(out + first, run);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    if (k < valid) out[(first + k) * all.strides[1]] = run[k];
  }
}
template <unsigned length, class Stored, class Value>
__forceinline__ __device__ void load_weights(const Rows& all, unsigned operand, const Stored* from,
                                             uint64_t first, unsigned valid, Value* to) {
  Stored run[length];
  if ((all.pieces >> operand & 1U) != 0) {
    load_piece<length>(from + first, run);
  } else {
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      run[k] = from[(first + (k < valid ? k : 0)) * all.strides[operand]];
    }
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = Element<Stored>::widen(run[k]);
}

// The row of this thread's group in a block's turn, and where its result goes.
inline __device__ uint64_t row_turns(const Rows& all) {
  const uint64_t rows_of_block = row_threads / all.group;
  return (all.rows.count + rows_of_block - 1) / rows_of_block;
}
template <class Stored>
__forceinline__ __device__ Row<Stored> find_row(const Rows& all, uint64_t turn, const Stored* in,
                                                uint64_t& out_place) {
  const uint64_t index = turn * (row_threads / all.group) + threadIdx.x / all.group;
  const bool has_row = index < all.rows.count;
  uint64_t places[2];
  find_places(all.rows, has_row ? index : 0, places);
  Row<Stored> row;
  row.group = all.group;
  row.lane = threadIdx.x % all.group;
  row.width = has_row ? all.width : 0;
  row.is_stashed = all.stashed != 0;
  row.has_pieces = (all.pieces & 1U) != 0;
  row.stride = all.strides[0];
  row.in = in + places[0];
  out_place = places[1];
  return row;
}

template <class Stored>
__forceinline__ __device__ void softmax(const Rows& all, uint32_t is_log, const Stored* in,
                                        Stored* out) {
  using Value = typename Element<Stored>::Value;
  constexpr unsigned length = Run<Stored>::length;
  for (uint64_t turn = blockIdx.x; turn < row_turns(all); turn += gridDim.x) {
    uint64_t place = 0;
    const Row<Stored> row = find_row(all, turn, in, place);
    Stored* const to = out + place;
    Value most = -hiptool_math::infinity<Value>();
    row.template each_run<true>([&](uint64_t, unsigned, const Value* x) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) most = most < x[k] ? x[k] : most;
    });
    most = row.template join<Larger>(most);
    Value sum = 0;
    row.template each_run<false>([&](uint64_t, unsigned valid, const Value* x) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        const Value term = hiptool_math::exponential(x[k] - most);
        if (k < valid) sum = sum + term;
      }
    });
    sum = row.template join<hiptool_device::Sum>(sum);
    const Value factor = is_log != 0 ? hiptool_math::logarithm(sum) : 1 / sum;
    row.template each_run<false>([&](uint64_t first, unsigned valid, const Value* x) {
      Stored run[length];
      if (is_log != 0) {
#pragma unroll
        for (unsigned k = 0; k < length; ++k) {
          run[k] = Element<Stored>::narrow((x[k] - most) - factor);
        }
      } else {
#pragma unroll
        for (unsigned k = 0; k < length; ++k) {
          run[k] = Element<Stored>::narrow(hiptool_math::exponential(x[k] - most) * factor);
        }
      }
      store_row<length>(all, to, first, valid, run);
    });
  }
}

// is_centred: by mean and variance, else by the mean of squares. The mean is corrected by the mean
// of what remains without it, so that a large mean costs no digits.
template <class Stored>
__forceinline__ __device__ void normalise(const Rows& all, uint32_t is_centred, double epsilon,
                                          const Stored* in, const Stored* weight,
                                          const Stored* bias, Stored* out) {
  using Value = typename Element<Stored>::Value;
  constexpr unsigned length = Run<Stored>::length;
  for (uint64_t turn = blockIdx.x; turn < row_turns(all); turn += gridDim.x) {
    uint64_t place = 0;
    const Row<Stored> row = find_row(all, turn, in, place);
    Stored* const to = out + place;
    const Value count = static_cast<Value>(all.width);
    Value mean = 0;
    if (is_centred != 0) {
      row.template each_run<true>([&](uint64_t, unsigned valid, const Value* x) {
#pragma unroll
        for (unsigned k = 0; k < length; ++k) {
          if (k < valid) mean = mean + x[k];
        }
      });
      mean = row.template join<hiptool_device::Sum>(mean) / count;
    }
    Moments<Value> moments = {0, 0};
    const auto measure = [&](uint64_t, unsigned valid, const Value* x) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        const Value centred = x[k] - mean;
        const Value square = centred * centred;
        if (k < valid) moments = {moments.first + centred, moments.second + square};
      }
    };
    if (is_centred != 0) {
      row.template each_run<false>(measure);
    } else {
      row.template each_run<true>(measure);
    }
    moments = row.template join<SumBoth>(moments);
    const Value shift = is_centred != 0 ? moments.first / count : Value(0);
    const Value variance = moments.second / count - shift * shift;
    const Value scale = 1 / root(variance + static_cast<Value>(epsilon));
    row.template each_run<false>([&](uint64_t first, unsigned valid, const Value* x) {
      Value weights[length];
      Value biases[length];
      load_weights<length>(all, 2, weight, first, valid, weights);
#pragma unroll
      for (unsigned k = 0; k < length; ++k) biases[k] = 0;
      if (bias != nullptr) load_weights<length>(all, 3, bias, first, valid, biases);
      Stored run[length];
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        const Value scaled = ((x[k] - mean) - shift) * scale * weights[k];
        run[k] = Element<Stored>::narrow(bias != nullptr ? scaled + biases[k] : scaled);
      }
      store_row<length>(all, to, first, valid, run);
    });
  }
}

// One row by the mean of squares, with the bits of normalise(): a thread loads all of its pieces of
// the row and of the weights before it adds, which a launch of a single row waits for most.
template <unsigned turns>
__forceinline__ __device__ void normalise_one(uint64_t width, double epsilon, const float* in,
                                              const float* weight, float* out) {
  constexpr unsigned length = Run<float>::length;
  float values[turns][length];
  float weights[turns][length];
#pragma unroll
  for (unsigned turn = 0; turn < turns; ++turn) {
    const unsigned first = (turn * row_threads + threadIdx.x) * length;
    if (first >= width) break;
    load_piece<length>(in + first, values[turn]);
    load_piece<length>(weight + first, weights[turn]);
  }
  float sum = 0;
#pragma unroll
  for (unsigned turn = 0; turn < turns; ++turn) {
    if ((turn * row_threads + threadIdx.x) * length >= width) break;
#pragma unroll
    for (unsigned k = 0; k < length; ++k) sum = sum + values[turn][k] * values[turn][k];
  }
  auto* const groups = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  sum = hiptool_device::join_block<hiptool_device::Sum, row_threads>(sum, groups);
  const float scale = 1 / root(sum / static_cast<float>(width) + static_cast<float>(epsilon));
#pragma unroll
  for (unsigned turn = 0; turn < turns; ++turn) {
    const unsigned first = (turn * row_threads + threadIdx.x) * length;
    if (first >= width) break;
    float run[length];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      run[k] = Element<float>::narrow(values[turn][k] * scale * weights[turn][k]);
    }
    store_piece<length>(out + first, run);
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_norm_one_f32(uint64_t width, double epsilon, const float* in, const float* weight,
                         float* out) {
  using namespace hiptool_ops;
  constexpr uint64_t turn = row_threads * static_cast<uint64_t>(Run<float>::length);
  if (width <= turn) {
    normalise_one<1>(width, epsilon, in, weight, out);
  } else if (width <= 4 * turn) {
    normalise_one<4>(width, epsilon, in, weight, out);
  } else {
    normalise_one<8>(width, epsilon, in, weight, out);
  }
}
HIPTOOL_EXPORT(hiptool_norm_one_f32);

#define HIPTOOL_KERNELS(type, Stored)                                               \
  extern "C" __global__ void __launch_bounds__(256) hiptool_softmax_rows_##type(    \
      hiptool_ops::Rows all, uint32_t is_log, const Stored* in, Stored* out) {      \
    hiptool_ops::softmax(all, is_log, in, out);                                     \
  }                                                                                 \
  extern "C" __global__ void __launch_bounds__(256) hiptool_norm_rows_##type(       \
      hiptool_ops::Rows all, uint32_t is_centred, double epsilon, const Stored* in, \
      const Stored* weight, const Stored* bias, Stored* out) {                      \
    hiptool_ops::normalise(all, is_centred, epsilon, in, weight, bias, out);        \
  }                                                                                 \
  HIPTOOL_EXPORT(hiptool_softmax_rows_##type);                                      \
  HIPTOOL_EXPORT(hiptool_norm_rows_##type)

HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(f32, float);
HIPTOOL_KERNELS(f64, double);
