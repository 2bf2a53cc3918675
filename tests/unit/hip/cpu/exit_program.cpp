// SPDX-License-Identifier: MIT
/// Returns from main while the cpu platform is idle, has work queued, runs some, or hangs in a host
/// function. It must end soon and, under a sanitizer, without a report.
#include <atomic>
#include <chrono>
#include <iostream>
#include <string_view>
#include <thread>

#include "hip/api.hpp"
#include "hip/binding.hpp"

namespace {

using namespace hiptool::hip;

/// Freed by a static object that is older than the platform, so after the workers are gone.
struct Late {
  const Api* api = nullptr;
  void* memory = nullptr;
  hipStream_t stream = nullptr;

  Late() = default;
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;
  ~Late() {
    if (api == nullptr) return;
    const bool is_freed = api->hipFree(memory) == hipSuccess;
    const bool is_refused = api->hipMemsetAsync(nullptr, 0, 1, stream) != hipSuccess;
    const bool is_destroyed = api->hipStreamDestroy(stream) == hipSuccess;
    if (!is_freed || !is_refused || !is_destroyed) std::cerr << "a late call failed\n";
  }
};

Late late;

std::atomic<bool> is_running{false};

void nap(void*) {
  is_running = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void sleep_long(void*) {
  is_running = true;
  std::this_thread::sleep_for(std::chrono::hours(1));
}

bool make_work(const Api& api, std::string_view how) {
  if (how == "idle") return true;
  const hipHostFn_t function = how == "stuck" ? sleep_long : nap;
  // A thousand naps would take longer than the test may.
  const int count = how == "queued" ? 1000 : 1;
  for (int index = 0; index < count; ++index) {
    if (api.hipLaunchHostFunc(late.stream, function, nullptr) != hipSuccess) return false;
  }
  while (!is_running) std::this_thread::yield();
  return true;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Binding binding = bind_cpu(BindRequest{});
  if (binding.api == nullptr || argument_count != 2) return 2;
  const Api& api = *binding.api;
  constexpr std::size_t bytes = 1 << 20;
  if (api.hipMalloc(&late.memory, bytes) != hipSuccess) return 3;
  if (api.hipStreamCreateWithFlags(&late.stream, hipStreamNonBlocking) != hipSuccess) return 4;
  // The two streams have no order, so each takes a half.
  char* const second_half = static_cast<char*>(late.memory) + bytes / 2;
  if (api.hipMemsetAsync(late.memory, 1, bytes / 2, late.stream) != hipSuccess) return 5;
  if (api.hipMemsetAsync(second_half, 2, bytes / 2, nullptr) != hipSuccess) return 6;
  if (api.hipStreamSynchronize(nullptr) != hipSuccess) return 6;
  late.api = &api;
  return make_work(api, arguments[1]) ? 0 : 7;
}
