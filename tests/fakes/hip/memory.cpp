// SPDX-License-Identifier: MIT
/// Memory of devices and of the host. FAKE_HIP_REGISTER_AGAIN is the answer of a second
/// registration where it is not success.
#include <atomic>
#include <mutex>
#include <set>

#include "fakes/common/settings.hpp"
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

namespace {

/// Registrations of memory that was registered before, by base. AMD's runtime accepts them (ROCm
/// clr, ihipHostRegister, which looks for no earlier one) but maps a base only once.
struct Repeated {
  std::mutex mutex;
  std::set<void*> bases;

  static Repeated& instance() {
    static auto* const repeated = new Repeated;
    return *repeated;
  }
  void add(void* base) {
    const std::lock_guard lock(mutex);
    bases.insert(base);
  }
  bool take(void* base) {
    const std::lock_guard lock(mutex);
    return bases.erase(base) != 0;
  }
};

hipError_t register_again(void* pointer) {
  const int answer = number_from("FAKE_HIP_REGISTER_AGAIN", hipSuccess);
  if (answer == hipSuccess) Repeated::instance().add(pointer);
  return static_cast<hipError_t>(answer);
}

}  // namespace

extern "C" {

std::atomic<unsigned> fake_hip_register_flags = 0;

hipError_t hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return forward(&Api::hipMemGetInfo, free_bytes, total_bytes);
}
hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  return forward(&Api::hipMalloc, pointer, bytes);
}
hipError_t hipFree(void* pointer) { return forward(&Api::hipFree, pointer); }
/// Memory that no cache holds back is like any other here.
hipError_t hipExtMallocWithFlags(void** pointer, std::size_t bytes, unsigned) {
  return forward(&Api::hipMalloc, pointer, bytes);
}
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  return forward(&Api::hipMallocManaged, pointer, bytes, flags);
}
hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  return forward(&Api::hipHostMalloc, pointer, bytes, flags);
}
hipError_t hipHostFree(void* pointer) { return forward(&Api::hipHostFree, pointer); }
hipError_t hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  fake_hip_register_flags = flags;
  const hipError_t error = forward(&Api::hipHostRegister, pointer, bytes, flags);
  return error == hipErrorHostMemoryAlreadyRegistered ? register_again(pointer) : error;
}
/// A base that was registered twice is gone with its first unregistration.
hipError_t hipHostUnregister(void* pointer) {
  const bool was_repeated = Repeated::instance().take(pointer);
  const hipError_t error = forward(&Api::hipHostUnregister, pointer);
  const bool is_only_repeated = was_repeated && error == hipErrorHostMemoryNotRegistered;
  return is_only_repeated ? hipSuccess : error;
}
hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags) {
  return forward(&Api::hipHostGetDevicePointer, device_pointer, host_pointer, flags);
}
}  // extern "C"
