// SPDX-License-Identifier: MIT
/// Whether a HIP runtime completes events in order, in plain HIP calls without any of hiptool:
/// event_order LIBRARY [MIB [ROUNDS]]
/// Each round copies a pattern to the device on one stream and back on another one, which waits for
/// an event of the first. Exit 0: every byte had arrived when the last event had completed; 1: not;
/// 77: a call failed, so nothing is known.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int exit_wrong = 1;
constexpr int exit_usage = 2;
constexpr int exit_unknown = 77;
constexpr std::size_t bytes_per_mib = 1024UL * 1024;

// Values of hipMemcpyKind.
constexpr int to_device = 1;
constexpr int to_host = 2;

void* library = nullptr;

/// Calls a function of the runtime; a failure ends the program.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    std::printf("not possible: the runtime has no %s\n", name);
    std::exit(exit_unknown);
  }
  int (*function)(Arguments...) = nullptr;
  std::memcpy(&function, &found, sizeof function);
  const int error = function(arguments...);
  if (error == 0) return;
  std::printf("not possible: %s returned error %d\n", name, error);
  std::exit(exit_unknown);
}

struct Buffers {
  void* source = nullptr;
  void* device = nullptr;
  void* result = nullptr;
};

std::size_t wrong_bytes_of_round(int round, std::size_t size, const Buffers& buffers) {
  void* up = nullptr;
  void* down = nullptr;
  void* uploaded = nullptr;
  void* downloaded = nullptr;
  call("hipStreamCreateWithFlags", &up, 1U);  // non-blocking
  call("hipStreamCreateWithFlags", &down, 1U);
  call("hipEventCreateWithFlags", &uploaded, 0U);
  call("hipEventCreateWithFlags", &downloaded, 0U);
  const int pattern = 0x41 + round;
  std::memset(buffers.source, pattern, size);
  std::memset(buffers.result, 0, size);
  call("hipMemcpyAsync", buffers.device, static_cast<const void*>(buffers.source), size, to_device,
       up);
  call("hipEventRecord", uploaded, up);
  call("hipStreamWaitEvent", down, uploaded, 0U);
  call("hipMemcpyAsync", buffers.result, static_cast<const void*>(buffers.device), size, to_host,
       down);
  call("hipEventRecord", downloaded, down);
  call("hipEventSynchronize", downloaded);
  // A copy of what is there now: a late copy may still be writing.
  std::vector<unsigned char> seen(size);
  std::memcpy(seen.data(), buffers.result, size);
  call("hipDeviceSynchronize");
  const auto right = std::count(seen.begin(), seen.end(), static_cast<unsigned char>(pattern));
  call("hipEventDestroy", downloaded);
  call("hipEventDestroy", uploaded);
  call("hipStreamDestroy", down);
  call("hipStreamDestroy", up);
  return size - static_cast<std::size_t>(right);
}

}  // namespace

int main(int count, char** words) {
  const int size_mib = count > 2 ? std::atoi(words[2]) : 64;
  const int rounds = count > 3 ? std::atoi(words[3]) : 4;
  if (count < 2 || size_mib < 1 || rounds < 1) {
    std::fputs("event_order LIBRARY [MIB [ROUNDS]]\n", stderr);
    return exit_usage;
  }
  library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("not possible: %s\n", dlerror());
    return exit_unknown;
  }
  call("hipInit", 0U);
  call("hipSetDevice", 0);
  const std::size_t size = static_cast<std::size_t>(size_mib) * bytes_per_mib;
  Buffers buffers;
  call("hipHostMalloc", &buffers.source, size, 0U);
  call("hipHostMalloc", &buffers.result, size, 0U);
  call("hipMalloc", &buffers.device, size);
  for (int round = 0; round < rounds; ++round) {
    const std::size_t wrong = wrong_bytes_of_round(round, size, buffers);
    if (wrong == 0) continue;
    std::printf("wrong: %zu of %zu bytes had not arrived when their event completed (round %d)\n",
                wrong, size, round + 1);
    return exit_wrong;
  }
  std::printf("right: %d rounds of %d MiB\n", rounds, size_mib);
  return 0;
}
