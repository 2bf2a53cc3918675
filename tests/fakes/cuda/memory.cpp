// SPDX-License-Identifier: MIT
/// Memory of devices and of the host.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "fakes/cuda/call.hpp"

using namespace hiptool::fake;
using namespace hiptool::hip;

namespace {

/// An allocation of nothing is an error, and its address a number.
template <class... Parameters, class... Arguments>
CUresult allocate(CUresult entered, CUdeviceptr* address, std::size_t bytes,
                  hipError_t (*Api::*call)(void**, std::size_t, Parameters...),
                  Arguments... arguments) {
  if (entered != CUDA_SUCCESS) return entered;
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const CUresult result = forward_after(entered, call, &pointer, bytes, arguments...);
  if (result == CUDA_SUCCESS) *address = to_address(pointer);
  return result;
}

/// Whether any part of the range is mapped without permission to write.
bool is_read_only(const void* pointer, std::size_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(pointer);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) != 3) {
      continue;
    }
    const bool overlaps = from < start + bytes && start < to;
    if (overlaps && rights[1] != 'w') return true;
  }
  return false;
}

unsigned to_cuda_type(int type) {
  return type == hipMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  return forward(&Api::hipMemGetInfo, free_bytes, total_bytes);
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return allocate(enter_context(), address, bytes, &Api::hipMalloc);
}
CUresult cuMemFree_v2(CUdeviceptr address) { return forward(&Api::hipFree, to_pointer(address)); }
CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  return allocate(enter_context(), address, bytes, &Api::hipMallocManaged, flags);
}
CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return allocate(enter_stream(stream), address, bytes, &Api::hipMallocAsync, stream);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  return forward_after(enter_stream(stream), &Api::hipFreeAsync, to_pointer(address), stream);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return allocate(enter_stream(stream), address, bytes, &Api::hipMallocFromPoolAsync, pool, stream);
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return forward_after(enter(), &Api::hipMemPoolSetAttribute, pool, attribute, value);
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep_bytes) {
  return forward_after(enter(), &Api::hipMemPoolTrimTo, pool, keep_bytes);
}

/// HIP's flags of its own are unknown here.
CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned known = 7;
  state().host_flags = flags;
  const CUresult entered = enter_context();
  if (entered != CUDA_SUCCESS) return entered;
  if (bytes == 0 || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  return forward(&Api::hipHostMalloc, pointer, bytes, flags);
}
CUresult cuMemFreeHost(void* pointer) { return forward(&Api::hipHostFree, pointer); }

/// A read-only mapping can be registered with that flag only (measured).
CUresult cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned read_only = 8;
  constexpr unsigned known = 15;
  state().register_flags = flags;
  const CUresult entered = enter_context();
  if (entered != CUDA_SUCCESS) return entered;
  if ((flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & read_only) == 0 && is_read_only(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return forward(&Api::hipHostRegister, pointer, bytes, flags);
}
CUresult cuMemHostUnregister(void* pointer) { return forward(&Api::hipHostUnregister, pointer); }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
  void* found = nullptr;
  const CUresult result = forward(&Api::hipHostGetDevicePointer, &found, pointer, flags);
  if (result == CUDA_SUCCESS) *address = to_address(found);
  return result;
}
CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return forward(&Api::hipHostGetFlags, flags, pointer);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  hipPointerAttribute_t found{};
  const CUresult result =
      forward_after(enter(), &Api::hipPointerGetAttributes, &found, to_pointer(address));
  if (result != CUDA_SUCCESS) return result;
  if (found.type == hipMemoryTypeUnregistered) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(data[i]) = to_cuda_type(found.type);
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<bool*>(data[i]) = found.isManaged != 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(data[i]) = found.device; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(data[i]) = address;
        break;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *static_cast<void**>(data[i]) = found.hostPointer;
        break;
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  void* found = nullptr;
  const CUresult result = forward(&Api::hipMemGetAddressRange, &found, bytes, to_pointer(address));
  if (result == CUDA_SUCCESS && base != nullptr) *base = to_address(found);
  return result;
}

}  // extern "C"
