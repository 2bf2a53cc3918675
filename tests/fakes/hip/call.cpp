// SPDX-License-Identifier: MIT
#include "fakes/hip/call.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>

#include "fakes/common/settings.hpp"

namespace hiptool::fake {
namespace {

int read_device_count() { return number_from("FAKE_HIP_DEVICES", 2); }

std::atomic<int>& known_count() {
  static std::atomic<int> count{read_device_count()};
  return count;
}

struct Streams {
  std::mutex mutex;
  std::set<hipStream_t> live;
};

Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

}  // namespace

int device_count() { return known_count().load(); }

void count_devices() { known_count().store(read_device_count()); }

hipError_t enter() {
  if (device_count() > 0) return hipSuccess;
  return variant.major == 5 ? hipErrorInvalidDevice : hipErrorNoDevice;
}

hipError_t enter_device(int ordinal) {
  if (const hipError_t error = enter(); error != hipSuccess) return error;
  return ordinal >= 0 && ordinal < device_count() ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t enter_stream(hipStream_t stream) {
  if (const hipError_t error = enter(); error != hipSuccess || stream == nullptr) return error;
  {
    const std::lock_guard lock(streams().mutex);
    if (streams().live.count(stream) != 0) return hipSuccess;
  }
  if (is_before_7()) return hipErrorContextIsDestroyed;
  std::fputs("the HIP stand-in was given a stream that does not exist\n", stderr);
  std::raise(SIGSEGV);
  return hipErrorContextIsDestroyed;
}

void add_stream(hipStream_t stream) {
  const std::lock_guard lock(streams().mutex);
  streams().live.insert(stream);
}

void remove_stream(hipStream_t stream) {
  const std::lock_guard lock(streams().mutex);
  streams().live.erase(stream);
}

}  // namespace hiptool::fake
