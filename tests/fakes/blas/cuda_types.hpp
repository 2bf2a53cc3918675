// SPDX-License-Identifier: MIT
#pragma once
#include "hip/nvidia/cublas.hpp"

namespace hiptool::fake {

inline hip::BlasType cuda_type(int type) {
  using namespace hip::nvidia;
  switch (type) {
    case CUDA_R_64F: return hip::BlasType::f64;
    case CUDA_R_16F: return hip::BlasType::f16;
    case CUDA_R_16BF: return hip::BlasType::bf16;
    case CUDA_R_8I: return hip::BlasType::i8;
    case CUDA_R_32I: return hip::BlasType::i32;
    default: return hip::BlasType::f32;
  }
}

inline hip::BlasCompute cuda_compute(int type) {
  using namespace hip::nvidia;
  switch (type) {
    case CUBLAS_COMPUTE_64F: return hip::BlasCompute::f64;
    case CUBLAS_COMPUTE_16F: return hip::BlasCompute::f16;
    case CUBLAS_COMPUTE_32I: return hip::BlasCompute::i32;
    case CUBLAS_COMPUTE_32F_FAST_TF32: return hip::BlasCompute::f32_fast_tf32;
    default: return hip::BlasCompute::f32;
  }
}

}  // namespace hiptool::fake
