// SPDX-License-Identifier: MIT
#include "fakes/cuda/faults.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "fakes/common/settings.hpp"

namespace hiptool::fake {
namespace {

int device_of(CUstream stream) {
  return ordinal_of(stream != nullptr ? context_of(stream) : current_context());
}

void wait_ms(void* milliseconds) {
  std::this_thread::sleep_for(
      std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(milliseconds)));
}

CUresult queue_wait(CUstream stream, std::intptr_t milliseconds) {
  return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, &wait_ms,
                       reinterpret_cast<void*>(milliseconds));
}

void flip_bit(void* memory) {
  constexpr std::size_t word = 1000;
  static_cast<std::uint32_t*>(memory)[word] ^= 0x10;
}

}  // namespace

std::string fault_of(const char* variable, int ordinal) {
  const std::string text = text_from(variable, "");
  const auto colon = text.find(':');
  if (colon == std::string::npos || std::atoi(text.c_str()) != ordinal) return {};
  return text.substr(colon + 1);
}

CUresult slow_down(const char* variable, CUstream stream) {
  const std::string milliseconds = fault_of(variable, device_of(stream));
  return milliseconds.empty() ? CUDA_SUCCESS : queue_wait(stream, std::atoi(milliseconds.c_str()));
}

namespace {

void grow_counters() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const file = std::getenv("FAKE_NVML_COUNTERS");
    const char* const line = std::getenv("FAKE_CUDA_GROWTH");
    if (file != nullptr && line != nullptr) std::ofstream(file, std::ios::app) << line << '\n';
  });
}

}  // namespace

CUresult after_launch(const std::string& kernel, CUstream stream, void** arguments) {
  constexpr std::intptr_t ever_ms = 24 * 3600 * 1000;
  const int device = device_of(stream);
  if (fault_of("FAKE_CUDA_GROWS", device) == kernel) grow_counters();
  if (fault_of("FAKE_CUDA_HANG", device) == kernel) return queue_wait(stream, ever_ms);
  if (fault_of("FAKE_CUDA_FLAKY", device) == kernel && arguments != nullptr) {
    return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, &flip_bit,
                         *static_cast<void**>(arguments[0]));
  }
  return slow_down("FAKE_CUDA_SLOW_KERNEL", stream);
}

}  // namespace hiptool::fake
