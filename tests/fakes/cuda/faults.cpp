// SPDX-License-Identifier: MIT
#include "fakes/cuda/faults.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

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

/// Leaves a word that still has the value of the last flip: an input, which no launch writes, would
/// be right again after every second launch.
void flip_bit(void* memory) {
  static std::mutex mutex;
  static std::map<const void*, std::uint32_t> flipped;
  constexpr std::size_t word = 1000;
  std::uint32_t& value = static_cast<std::uint32_t*>(memory)[word];
  const std::lock_guard lock(mutex);
  const auto known = flipped.find(memory);
  if (known != flipped.end() && known->second == value) return;
  value ^= 0x10;
  flipped[memory] = value;
}

}  // namespace

std::string fault_of(const char* variable, int ordinal) {
  std::istringstream faults(text_from(variable, ""));
  for (std::string one; std::getline(faults, one, ',');) {
    const auto colon = one.find(':');
    if (colon != std::string::npos && std::atoi(one.c_str()) == ordinal) {
      return one.substr(colon + 1);
    }
  }
  return {};
}

namespace {

/// The number of the variable for this device; 0: none.
std::uint64_t number_of(const char* variable, int device) {
  const std::string text = fault_of(variable, device);
  return text.empty() ? 0 : std::strtoull(text.c_str(), nullptr, 10);
}

/// Whether NAME_AT is the number of this call, from 1 on, or is not set.
bool is_in_turn(const std::string& name, int device) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::uint64_t> counts;
  const std::uint64_t at = number_of((name + "_AT").c_str(), device);
  const std::lock_guard lock(mutex);
  return at == 0 || ++counts[{name, device}] == at;
}

/// Whether the variable NAME means this launch: it names the kernel, and NAME_AT the number of the
/// launch.
bool is_meant(const std::string& name, const std::string& kernel, int device) {
  return fault_of(name.c_str(), device) == kernel && is_in_turn(name, device);
}

/// Whether the time of FAKE_CUDA_SLOW_AFTER is over; always if it is not set.
bool is_slow_now(const std::string& kernel, int device) {
  using Clock = std::chrono::steady_clock;
  static std::mutex mutex;
  static std::map<int, Clock::time_point> first_launches;
  const std::string when = fault_of("FAKE_CUDA_SLOW_AFTER", device);
  if (when.empty()) return true;
  const std::lock_guard lock(mutex);
  if (kernel == when.substr(when.find(':') + 1)) first_launches.emplace(device, Clock::now());
  const auto first = first_launches.find(device);
  return first != first_launches.end() &&
         Clock::now() - first->second > std::chrono::duration<double>(std::atof(when.c_str()));
}

void grow_counters() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const file = std::getenv("FAKE_NVML_COUNTERS");
    const char* const line = std::getenv("FAKE_CUDA_GROWTH");
    if (file != nullptr && line != nullptr) std::ofstream(file, std::ios::app) << line << '\n';
  });
}

}  // namespace

CUresult slow_down(const char* variable, CUstream stream) {
  const int device = device_of(stream);
  const std::string milliseconds = fault_of(variable, device);
  if (milliseconds.empty() || !is_in_turn(variable, device)) return CUDA_SUCCESS;
  return queue_wait(stream, std::atoi(milliseconds.c_str()));
}

bool is_idle(const std::string& kernel, CUstream stream) {
  return fault_of("FAKE_CUDA_IDLE", device_of(stream)) == kernel;
}

CUresult after_launch(const std::string& kernel, CUstream stream, void** arguments) {
  constexpr std::intptr_t ever_ms = 24 * 3600 * 1000;
  const int device = device_of(stream);
  if (is_meant("FAKE_CUDA_GROWS", kernel, device)) grow_counters();
  if (is_meant("FAKE_CUDA_FAIL", kernel, device)) return CUDA_ERROR_UNKNOWN;
  if (is_meant("FAKE_CUDA_HANG", kernel, device)) return queue_wait(stream, ever_ms);
  if (arguments != nullptr && is_meant("FAKE_CUDA_FLAKY", kernel, device)) {
    return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, &flip_bit,
                         *static_cast<void**>(arguments[0]));
  }
  if (!is_slow_now(kernel, device)) return CUDA_SUCCESS;
  return slow_down("FAKE_CUDA_SLOW_KERNEL", stream);
}

}  // namespace hiptool::fake
