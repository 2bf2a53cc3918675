// SPDX-License-Identifier: MIT
/// The time that a process needs before and after a load of the first GPU, whatever loads: starts
/// the CUDA driver, makes the primary context, allocates device memory, pins host memory and exits.
///
/// Usage: driver_floor BYTES PINNED_BYTES. Prints the seconds of each step as JSON. The process's
/// own time, its exit included, is for the caller to measure.
#include <dlfcn.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using Clock = std::chrono::steady_clock;

void* library = nullptr;

// Names and types of cuda.h (CUDA driver API); 0 is CUDA_SUCCESS.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  const int result = function != nullptr ? function(arguments...) : -1;
  if (result == 0) return;
  std::fprintf(stderr, "driver_floor: %s: %d\n", name, result);
  std::exit(1);
}

double seconds_since(Clock::time_point& start) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> passed = now - start;
  start = now;
  return passed.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: driver_floor BYTES PINNED_BYTES\n");
    return 2;
  }
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10);
  const std::size_t pinned_bytes = std::strtoull(argv[2], nullptr, 10);
  Clock::time_point start = Clock::now();
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "driver_floor: %s\n", dlerror());
    return 77;
  }
  call("cuInit", 0u);
  const double start_s = seconds_since(start);
  void* context = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  const double context_s = seconds_since(start);
  std::uint64_t memory = 0;
  call("cuMemAlloc_v2", &memory, bytes);
  const double allocate_s = seconds_since(start);
  void* pinned =
      mmap(nullptr, pinned_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(pinned, pinned_bytes, MADV_HUGEPAGE);
  call("cuMemHostRegister_v2", pinned, pinned_bytes, 0u);
  const double pin_s = seconds_since(start);
  std::printf("{\"start_s\": %.4f, \"context_s\": %.4f, \"allocate_s\": %.4f, \"pin_s\": %.4f}\n",
              start_s, context_s, allocate_s, pin_s);
  return 0;
}
