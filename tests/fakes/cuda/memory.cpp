// SPDX-License-Identifier: MIT
/// Memory of devices and of the host.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "fakes/cuda/call.hpp"
#include "fakes/cuda/graphs.hpp"
#include "fakes/cuda/reads.hpp"

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
  if (result == CUDA_SUCCESS) {
    *address = to_address(pointer);
    add_memory(pointer, bytes);
  }
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

/// After enter_context() and where the thread records nothing: these calls may wait for devices.
CUresult enter_unrecorded() {
  const CUresult entered = enter_context();
  return entered == CUDA_SUCCESS ? refuse_in_thread() : entered;
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  return forward(&Api::hipMemGetInfo, free_bytes, total_bytes);
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return allocate(enter_unrecorded(), address, bytes, &Api::hipMalloc);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const CUresult entered = enter_unrecorded();
  // Before another thread can get the same address.
  if (entered == CUDA_SUCCESS) remove_memory(to_pointer(address));
  return forward_after(entered, &Api::hipFree, to_pointer(address));
}
CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  return allocate(enter_context(), address, bytes, &Api::hipMallocManaged, flags);
}
/// HIP's flags of its own are unknown here.
CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned known = 7;
  state().host_flags = flags;
  const CUresult entered = enter_unrecorded();
  if (entered != CUDA_SUCCESS) return entered;
  if (bytes == 0 || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  return forward(&Api::hipHostMalloc, pointer, bytes, flags);
}
CUresult cuMemFreeHost(void* pointer) {
  return forward_after(enter_unrecorded(), &Api::hipHostFree, pointer);
}

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
}  // extern "C"
