// SPDX-License-Identifier: MIT
/// What both interfaces of the fake cuDNN share.
#pragma once
#include "fakes/blas/engine.hpp"
#include "hip/abi.hpp"
#include "hip/nvidia/cudnn.hpp"

namespace hiptool::fake {

constexpr int cudnn_bad_param = 2000;
constexpr int cudnn_not_supported = 3000;
constexpr int cudnn_execution_failed = 5000;

struct CudnnState {
  Faults faults{"CUDNN"};
  hip::hipStream_t stream = nullptr;
};
CudnnState& cudnn_state();

inline hip::BlasType blas_type_of_cudnn(int type) {
  switch (type) {
    case hip::nvidia::CUDNN_DATA_DOUBLE: return hip::BlasType::f64;
    case hip::nvidia::CUDNN_DATA_HALF: return hip::BlasType::f16;
    case hip::nvidia::CUDNN_DATA_BFLOAT16: return hip::BlasType::bf16;
    default: return hip::BlasType::f32;
  }
}

inline bool has_halves(hip::BlasType type) {
  return type == hip::BlasType::f16 || type == hip::BlasType::bf16;
}

}  // namespace hiptool::fake

extern "C" {
/// Descriptors that exist.
extern int fake_cudnn_objects;
/// The engine of the last execution; -1 - N for algorithm N of the older interface.
extern int fake_cudnn_engine;
/// The handle's stream.
hiptool::hip::hipStream_t fake_cudnn_stream();
}
