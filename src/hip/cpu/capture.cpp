// SPDX-License-Identifier: MIT
#include "hip/cpu/capture.hpp"

#include <utility>

namespace hiptool::hip::cpu {

hipError_t Capture::begin() {
  const std::lock_guard lock(mutex_);
  if (recording_) return hipErrorIllegalState;
  recording_.emplace();
  recording_->thread = std::this_thread::get_id();
  return hipSuccess;
}

hipError_t Capture::end(GraphWork& work) {
  const std::lock_guard lock(mutex_);
  if (!recording_) return hipErrorIllegalState;
  if (recording_->thread != std::this_thread::get_id()) return hipErrorStreamCaptureWrongThread;
  Recording ended = std::move(*recording_);
  recording_.reset();
  if (ended.is_spoilt) return hipErrorStreamCaptureInvalidated;
  work = std::move(ended.work);
  return hipSuccess;
}

hipError_t Capture::refuse() {
  const std::lock_guard lock(mutex_);
  if (!recording_) return hipSuccess;
  if (recording_->is_spoilt) return hipErrorStreamCaptureInvalidated;
  recording_->is_spoilt = true;
  recording_->work.clear();
  return hipErrorStreamCaptureUnsupported;
}

std::optional<hipError_t> Capture::add(std::function<void()>& run) {
  const std::lock_guard lock(mutex_);
  if (!recording_) return std::nullopt;
  if (recording_->is_spoilt) return hipErrorStreamCaptureInvalidated;
  recording_->work.push_back(std::move(run));
  return hipSuccess;
}

}  // namespace hiptool::hip::cpu
