// SPDX-License-Identifier: MIT
/// A stand-in for libamdhip64 on host memory with one device. Linked once whole (as HIP 6 and 7)
/// and once without what HIP 5 lacks (hip5.map). FAKE_HIP_VERSION is the runtime's version,
/// FAKE_HIP_DEVICES its number of devices, FAKE_HIP_INIT the answer of hipInit.
#include <cstdlib>
#include <cstring>

#include "hip/abi.hpp"

using namespace hiptool::hip;  // HIP's names, which this file is all about

struct hiptool::hip::ihipStream_t {
  int flags;
};
struct hiptool::hip::ihipEvent_t {
  unsigned flags;
};

namespace {

int number_from(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

hipError_t move(void* to, const void* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
  return hipSuccess;
}

hipError_t take(void** pointer, std::size_t bytes) {
  *pointer = std::malloc(bytes);
  return hipSuccess;
}

hipError_t release(void* pointer) {
  std::free(pointer);
  return hipSuccess;
}

hipError_t put_properties(void* properties, const PropertyLayout& layout, const char* arch) {
  char* bytes = static_cast<char*>(properties);
  const int warp_size = 64;
  std::strcpy(bytes + layout.name_offset, "Fake Instinct");
  std::memcpy(bytes + layout.warp_size_offset, &warp_size, sizeof(warp_size));
  std::strcpy(bytes + layout.gcn_arch_name_offset, arch);
  return hipSuccess;
}

}  // namespace

extern "C" {

unsigned fake_hip_register_flags = 0;

hipError_t hipInit(unsigned) { return static_cast<hipError_t>(number_from("FAKE_HIP_INIT", 0)); }
hipError_t hipRuntimeGetVersion(int* version) {
  *version = number_from("FAKE_HIP_VERSION", 70253211);
  return hipSuccess;
}
hipError_t hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }
const char* hipGetErrorName(hipError_t) { return "hipErrorFake"; }
const char* hipGetErrorString(hipError_t) { return "a fake error"; }
hipError_t hipGetLastError() { return hipSuccess; }
hipError_t hipGetDeviceCount(int* count) {
  *count = number_from("FAKE_HIP_DEVICES", 1);
  return *count > 0 ? hipSuccess : hipErrorNoDevice;
}
hipError_t hipGetDevice(int* ordinal) {
  *ordinal = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int) { return hipSuccess; }
hipError_t hipDeviceSynchronize() { return hipSuccess; }
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  *device = ordinal;
  return hipSuccess;
}
hipError_t hipDeviceGetName(char*, int, hipDevice_t) { return hipSuccess; }
hipError_t hipDeviceTotalMem(std::size_t*, hipDevice_t) { return hipSuccess; }
hipError_t hipDeviceGetAttribute(int*, hipDeviceAttribute_t, int) { return hipErrorInvalidValue; }
hipError_t hipGetDeviceProperties(void* properties, int) {
  return put_properties(properties, property_layout_r0000, "gfx906:sramecc+");
}
hipError_t hipGetDevicePropertiesR0000(void* properties, int ordinal) {
  return hipGetDeviceProperties(properties, ordinal);
}
hipError_t hipGetDevicePropertiesR0600(void* properties, int) {
  return put_properties(properties, property_layout_r0600, "gfx942:sramecc+:xnack-");
}
hipError_t hipMemGetInfo(std::size_t*, std::size_t*) { return hipSuccess; }
hipError_t hipMalloc(void** pointer, std::size_t bytes) { return take(pointer, bytes); }
hipError_t hipFree(void* pointer) { return release(pointer); }
hipError_t hipFreeAsync(void* pointer, hipStream_t) {
  return pointer != nullptr ? release(pointer) : hipErrorInvalidValue;
}
hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned) {
  return take(pointer, bytes);
}
hipError_t hipHostFree(void* pointer) { return release(pointer); }
hipError_t hipHostRegister(void*, std::size_t, unsigned flags) {
  fake_hip_register_flags = flags;
  return hipSuccess;
}
hipError_t hipHostUnregister(void*) { return hipSuccess; }
/// As HIP 5 answers: device memory (odd addresses here) is type 1, other memory is an error.
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % 2 == 0) return hipErrorInvalidValue;
  attributes->type = 1;
  return hipSuccess;
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
  return move(to, from, bytes);
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind,
                          hipStream_t) {
  return move(to, from, bytes);
}
hipError_t hipMemcpy2DAsync(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t,
                            hipMemcpyKind, hipStream_t) {
  return hipErrorNotSupported;
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  return hipSuccess;
}
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t) {
  return hipMemset(to, value, bytes);
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
  *stream = new ihipStream_t{0};
  return hipSuccess;
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}
hipError_t hipDeviceGetStreamPriorityRange(int*, int*) { return hipSuccess; }
hipError_t hipStreamDestroy(hipStream_t stream) {
  delete stream;
  return hipSuccess;
}
hipError_t hipStreamQuery(hipStream_t) { return hipSuccess; }
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) { return hipSuccess; }
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t function, void* user_data) {
  function(user_data);
  return hipSuccess;
}
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user_data,
                                unsigned) {
  callback(stream, hipSuccess, user_data);
  return hipSuccess;
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  *event = new ihipEvent_t{flags};
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  delete event;
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
hipError_t hipEventQuery(hipEvent_t) { return hipSuccess; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t, hipEvent_t) {
  *milliseconds = 1.0F;
  return hipSuccess;
}

}  // extern "C"
