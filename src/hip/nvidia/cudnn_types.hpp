// SPDX-License-Identifier: MIT
/// cuDNN's numbers of a convolution's types.
#pragma once
#include "hip/blas.hpp"
#include "hip/nvidia/cudnn.hpp"

namespace hiptool::hip::nvidia {

inline int cudnn_type(BlasType type) {
  switch (type) {
    case BlasType::f64: return CUDNN_DATA_DOUBLE;
    case BlasType::f16: return CUDNN_DATA_HALF;
    case BlasType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

/// The type of sums.
inline int cudnn_compute_type(BlasType type) {
  return type == BlasType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

}  // namespace hiptool::hip::nvidia
