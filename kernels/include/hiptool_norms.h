// SPDX-License-Identifier: MIT
// What the kernels of softmax and normalisation share.
#pragma once
#include "hiptool_device.h"

namespace hiptool_ops {

struct Larger {
  template <class Value>
  static __device__ Value join(Value a, Value b) {
    return a < b ? b : a;
  }
};

// Two sums that are joined together.
template <class Value>
struct Moments {
  Value first;
  Value second;
};
struct SumBoth {
  template <class Value>
  static __device__ Moments<Value> join(Moments<Value> a, Moments<Value> b) {
    return {a.first + b.first, a.second + b.second};
  }
};

inline __device__ float root(float x) { return __fsqrt_rn(x); }
inline __device__ double root(double x) { return __dsqrt_rn(x); }

}  // namespace hiptool_ops
