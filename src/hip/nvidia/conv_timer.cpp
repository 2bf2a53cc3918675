// SPDX-License-Identifier: MIT
#include "hip/nvidia/conv_timer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/contexts.hpp"

namespace hiptool::hip::nvidia {
namespace {

Api timer_calls() {
  Api api = make_unsupported_api();
  if (device_count() == 0) return api;  // cuDNN without a bound platform, in tests
  fill_memory(api);
  fill_copies(api);
  fill_streams(api);
  return api;
}

std::size_t aligned(std::int64_t elements, BlasType type) {
  constexpr std::size_t alignment = 256;
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(type);
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

ConvTimer::ConvTimer(const ConvCall& call, std::size_t workspace_bytes)
    : api_(timer_calls()), call_(call) {
  call_.stream = nullptr;
  is_ready_ = prepare(workspace_bytes);
}

ConvTimer::~ConvTimer() {
  if (call_.stream != nullptr) api_.hipStreamSynchronize(call_.stream);
  if (start_ != nullptr) api_.hipEventDestroy(start_);
  if (stop_ != nullptr) api_.hipEventDestroy(stop_);
  if (call_.stream != nullptr) api_.hipStreamDestroy(call_.stream);
  if (memory_ != nullptr) api_.hipFree(memory_);
}

bool ConvTimer::prepare(std::size_t workspace_bytes) {
  const std::size_t x_bytes = aligned(call_.n * call_.c * call_.h * call_.w, call_.type);
  const std::size_t filter_bytes =
      aligned(call_.k * (call_.c / call_.groups) * call_.r * call_.s, call_.type);
  const std::size_t y_bytes =
      aligned(call_.n * call_.k * call_.out_height() * call_.out_width(), call_.type);
  const std::size_t bytes = x_bytes + filter_bytes + y_bytes + workspace_bytes;
  if (api_.hipMalloc(&memory_, bytes) != hipSuccess) return false;
  auto* const first = static_cast<std::byte*>(memory_);
  call_.x = first;
  call_.filter = first + x_bytes;
  call_.y = first + x_bytes + filter_bytes;
  call_.workspace = first + x_bytes + filter_bytes + y_bytes;
  // Normal numbers in every type, as some units are slower with others.
  constexpr int pattern = 0x2b;
  return api_.hipStreamCreateWithFlags(&call_.stream, hipStreamNonBlocking) == hipSuccess &&
         api_.hipEventCreateWithFlags(&start_, hipEventDefault) == hipSuccess &&
         api_.hipEventCreateWithFlags(&stop_, hipEventDefault) == hipSuccess &&
         api_.hipMemsetAsync(memory_, pattern, x_bytes + filter_bytes, call_.stream) ==
             hipSuccess &&
         api_.hipStreamSynchronize(call_.stream) == hipSuccess;
}

std::optional<double> ConvTimer::time(const std::function<int()>& queue) {
  constexpr double long_s = 1e-3;  // beyond the time of a launch
  constexpr int samples = 3;
  constexpr double most_repeats = 16;
  if (!sample(queue, 1)) return std::nullopt;  // loads kernels
  const std::optional<double> first = sample(queue, 1);
  if (!first || (*first > long_s && fastest_s_ && *first > 2 * *fastest_s_)) return first;
  const int repeats =
      static_cast<int>(std::clamp(std::ceil(long_s / std::max(*first, 1e-6)), 1.0, most_repeats));
  double best_s = *first;
  for (int i = 0; i < samples; ++i) {
    const std::optional<double> one = sample(queue, repeats);
    if (!one) return std::nullopt;
    best_s = std::min(best_s, *one);
  }
  fastest_s_ = std::min(best_s, fastest_s_.value_or(best_s));
  return best_s;
}

std::optional<double> ConvTimer::sample(const std::function<int()>& queue, int repeats) const {
  if (api_.hipEventRecord(start_, call_.stream) != hipSuccess) return std::nullopt;
  for (int i = 0; i < repeats; ++i) {
    if (queue() != 0) return std::nullopt;
  }
  float milliseconds = 0;
  if (api_.hipEventRecord(stop_, call_.stream) != hipSuccess ||
      api_.hipEventSynchronize(stop_) != hipSuccess ||
      api_.hipEventElapsedTime(&milliseconds, start_, stop_) != hipSuccess) {
    return std::nullopt;
  }
  return static_cast<double>(milliseconds) * 1e-3 / repeats;
}

}  // namespace hiptool::hip::nvidia
