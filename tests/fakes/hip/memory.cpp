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

/// HIP 5.2's numbers: host 0, device 1; managed memory is told apart by its own field only.
int type_before_6(const hipPointerAttribute_t& attributes) {
  constexpr int host = 0;
  constexpr int device = 1;
  return attributes.type == hipMemoryTypeHost ? host : device;
}

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
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  return forward(&Api::hipMallocManaged, pointer, bytes, flags);
}
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMallocAsync, pointer, bytes, stream);
}
hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  if (pointer == nullptr && is_before_7()) return finish(hipErrorInvalidValue);
  return forward_after(enter_stream(stream), &Api::hipFreeAsync, pointer, stream);
}
hipError_t hipMallocFromPoolAsync(void** pointer, std::size_t bytes, hipMemPool_t pool,
                                  hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipMallocFromPoolAsync, pointer, bytes, pool,
                       stream);
}
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int ordinal) {
  return forward_after(enter_device(ordinal), &Api::hipDeviceGetDefaultMemPool, pool, ordinal);
}
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return forward(&Api::hipMemPoolSetAttribute, pool, attribute, value);
}
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t keep_bytes) {
  return forward(&Api::hipMemPoolTrimTo, pool, keep_bytes);
}

hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  return forward(&Api::hipHostMalloc, pointer, bytes, flags);
}
hipError_t hipHostFree(void* pointer) { return forward(&Api::hipHostFree, pointer); }
hipError_t hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  fake_hip_register_flags = flags;
  const hipError_t error = forward(&Api::hipHostRegister, pointer, bytes, flags);
  return error == hipErrorHostMemoryAlreadyRegistered ? finish(register_again(pointer)) : error;
}
/// A base that was registered twice is gone with its first unregistration.
hipError_t hipHostUnregister(void* pointer) {
  const bool was_repeated = Repeated::instance().take(pointer);
  const hipError_t error = forward(&Api::hipHostUnregister, pointer);
  const bool is_only_repeated = was_repeated && error == hipErrorHostMemoryNotRegistered;
  return is_only_repeated ? finish(hipSuccess) : error;
}
hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags) {
  return forward(&Api::hipHostGetDevicePointer, device_pointer, host_pointer, flags);
}
hipError_t hipHostGetFlags(unsigned* flags, void* host_pointer) {
  return forward(&Api::hipHostGetFlags, flags, host_pointer);
}

/// Null is an error before 7.0, memory that the runtime does not know one before 6.0. An error
/// leaves the struct alone.
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  hipPointerAttribute_t found{};
  if (attributes == nullptr || (pointer == nullptr && is_before_7())) {
    return finish(hipErrorInvalidValue);
  }
  const hipError_t error = forward(&Api::hipPointerGetAttributes, &found, pointer);
  if (error != hipSuccess) return error;
  if (variant.major == 5) {
    if (found.type == hipMemoryTypeUnregistered) return finish(hipErrorInvalidValue);
    found.type = type_before_6(found);
  }
  *attributes = found;
  return finish(hipSuccess);
}
hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t pointer) {
  return forward(&Api::hipMemGetAddressRange, base, bytes, pointer);
}

}  // extern "C"
