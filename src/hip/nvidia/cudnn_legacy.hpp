// SPDX-License-Identifier: MIT
/// Convolutions by cuDNN's older interface, which has eight algorithms.
#pragma once
#include <cstddef>

#include "hip/dnn.hpp"
#include "hip/nvidia/cudnn.hpp"

namespace hiptool::hip::nvidia {

/// The descriptors of one convolution and its algorithm.
class CudnnLegacyPlan {
 public:
  explicit CudnnLegacyPlan(const CudnnCalls& calls) : calls_(calls) {}
  ~CudnnLegacyPlan();
  CudnnLegacyPlan(const CudnnLegacyPlan&) = delete;
  CudnnLegacyPlan& operator=(const CudnnLegacyPlan&) = delete;

  /// Chooses the algorithm for a checked call with results. Returns cuDNN's status, or
  /// blas_no_algorithm.
  int make(void* handle, const ConvCall& call);

  /// Queues a call of that shape on the handle's stream.
  int execute(void* handle, const ConvCall& call) const;

  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  int describe(const ConvCall& call);
  int choose(void* handle, const ConvCall& call);

  const CudnnCalls& calls_;
  void* x_ = nullptr;
  void* filter_ = nullptr;
  void* y_ = nullptr;
  void* conv_ = nullptr;
  int algo_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace hiptool::hip::nvidia
