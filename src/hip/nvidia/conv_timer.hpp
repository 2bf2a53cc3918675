// SPDX-License-Identifier: MIT
/// Times a library's ways to compute a convolution, in memory and on a stream of its own.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>

#include "hip/api.hpp"
#include "hip/dnn.hpp"

namespace hiptool::hip::nvidia {

class ConvTimer {
 public:
  /// Allocates the tensors of a checked call and a workspace on the calling thread's device.
  ConvTimer(const ConvCall& call, std::size_t workspace_bytes);
  ~ConvTimer();
  ConvTimer(const ConvTimer&) = delete;
  ConvTimer& operator=(const ConvTimer&) = delete;

  /// False without a driver or where memory is short.
  bool is_ready() const noexcept { return is_ready_; }

  /// The call with this memory and stream.
  const ConvCall& call() const noexcept { return call_; }

  /// Seconds of the fastest of some runs; none if a run failed. `queue` queues call() and returns
  /// 0, or a status. One that takes twice as long as the fastest way so far runs only twice.
  std::optional<double> time(const std::function<int()>& queue);

 private:
  bool prepare(std::size_t workspace_bytes);
  std::optional<double> sample(const std::function<int()>& queue, int repeats) const;

  const Api api_;
  ConvCall call_;
  void* memory_ = nullptr;
  hipEvent_t start_ = nullptr;
  hipEvent_t stop_ = nullptr;
  std::optional<double> fastest_s_;
  bool is_ready_ = false;
};

}  // namespace hiptool::hip::nvidia
