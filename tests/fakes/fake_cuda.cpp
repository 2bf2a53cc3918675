// SPDX-License-Identifier: MIT
/// A stand-in for libcuda.so.1 on host memory. It keeps the rules measured on a real driver (580,
/// one H200): a context for each thread that must be made current, error 201 without one, calls
/// with a stream or event handle that need none, event codes. It executes no kernel.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "fakes/fake_cuda.hpp"
#include "hip/nvidia/cuda.hpp"

using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about
using hiptool::test::FakeCudaState;

struct hiptool::hip::nvidia::CUctx_st {
  int ordinal;
};
struct hiptool::hip::ihipStream_t {
  CUcontext context;
};
struct hiptool::hip::ihipEvent_t {
  bool is_recorded;
};

namespace {

struct Block {
  std::size_t bytes;
  CUmemorytype type;
  bool is_managed;
};

FakeCudaState the_state;
std::mutex the_mutex;
std::map<CUdeviceptr, Block> the_blocks;
std::array<CUctx_st, 8> the_contexts{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}};
thread_local CUcontext current = nullptr;

int number_from(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

bool is_device(CUdevice device) {
  return device >= 0 && device < number_from("FAKE_CUDA_DEVICES", 2);
}

CUresult need_context() { return current != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }

/// A null stream belongs to the current context; a handle needs none.
CUresult need_stream(CUstream stream) { return stream != nullptr ? CUDA_SUCCESS : need_context(); }

CUresult take(CUdeviceptr* address, std::size_t bytes, CUmemorytype type, bool is_managed = false) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = to_address(std::malloc(bytes));
  const std::lock_guard lock(the_mutex);
  the_blocks[*address] = {bytes, type, is_managed};
  the_state.allocations = the_blocks.size();
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(the_mutex);
  if (the_blocks.erase(address) == 0) return CUDA_ERROR_INVALID_VALUE;
  the_state.allocations = the_blocks.size();
  std::free(to_pointer(address));
  return CUDA_SUCCESS;
}

CUresult move(CUresult entered, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  if (entered == CUDA_SUCCESS) std::memmove(to_pointer(to), to_pointer(from), bytes);
  return entered;
}

}  // namespace

extern "C" {

FakeCudaState* fake_cuda_state() { return &the_state; }

CUresult cuInit(unsigned) {
  // A driver that hangs.
  std::this_thread::sleep_for(std::chrono::seconds(number_from("FAKE_CUDA_INIT_SLEEP_S", 0)));
  return static_cast<CUresult>(number_from("FAKE_CUDA_INIT", 0));
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  const bool is_known = error == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  *text = is_known ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : nullptr;
  return is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult error, const char** text) { return cuGetErrorName(error, text); }

CUresult cuDeviceGetCount(int* count) {
  *count = number_from("FAKE_CUDA_DEVICES", 2);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0xA0 + device, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{141} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    default: *value = 1000 + attribute; break;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  *device = std::strcmp(id, "0000:01:00.0") == 0 ? 1 : 99;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice, CUdevice) {
  the_state.p2p_attribute = attribute;
  *value = 1;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const std::lock_guard lock(the_mutex);
  ++the_state.retained[static_cast<std::size_t>(device)];
  *context = &the_contexts[static_cast<std::size_t>(device)];
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return need_context(); }
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return need_context();
}

CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = *total_bytes = std::size_t{141} << 30;
  return need_context();
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  const CUresult entered = need_context();
  return entered == CUDA_SUCCESS ? take(address, bytes, CU_MEMORYTYPE_DEVICE) : entered;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const CUresult entered = need_context();
  return entered == CUDA_SUCCESS ? release(address) : entered;
}
CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned) {
  const CUresult entered = need_context();
  return entered == CUDA_SUCCESS ? take(address, bytes, CU_MEMORYTYPE_DEVICE, true) : entered;
}
CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  the_state.host_flags = flags;
  CUdeviceptr address = 0;
  CUresult result = need_context();
  if (result == CUDA_SUCCESS) result = take(&address, bytes, CU_MEMORYTYPE_HOST);
  if (result == CUDA_SUCCESS) *pointer = to_pointer(address);
  return result;
}
CUresult cuMemFreeHost(void* pointer) { return cuMemFree_v2(to_address(pointer)); }
CUresult cuMemHostRegister_v2(void*, std::size_t, unsigned flags) {
  the_state.register_flags = flags;
  return need_context();
}
CUresult cuMemHostUnregister(void*) { return need_context(); }
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  const std::lock_guard lock(the_mutex);
  const auto block = the_blocks.find(address);
  if (block == the_blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(data[i]) = block->second.type;
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<bool*>(data[i]) = block->second.is_managed;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(data[i]) = 0; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(data[i]) = address;
        break;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER: break;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return move(need_context(), to, from, bytes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return move(need_stream(stream), to, from, bytes);
}
CUresult cuMemcpy2DAsync_v2(const CudaMemcpy2D* copy, CUstream stream) {
  if (copy->source_type != CU_MEMORYTYPE_UNIFIED ||
      copy->destination_type != CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = need_stream(stream);
  for (std::size_t row = 0; row < copy->height; ++row) {
    result = move(result, copy->destination_device + row * copy->destination_pitch,
                  copy->source_device + row * copy->source_pitch, copy->width_bytes);
  }
  return result;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  const CUresult entered = need_stream(stream);
  if (entered == CUDA_SUCCESS) std::memset(to_pointer(to), value, count);
  return entered;
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return cuMemsetD8Async(to, value, count, nullptr);
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  const CUresult entered = need_context();
  if (entered == CUDA_SUCCESS) *stream = new hiptool::hip::ihipStream_t{current};
  return entered;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  *context = stream->context;
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) { return need_stream(stream); }
CUresult cuStreamSynchronize(CUstream stream) { return need_stream(stream); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent, unsigned) { return need_stream(stream); }

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  the_state.event_flags = flags;
  const CUresult entered = need_context();
  if (entered == CUDA_SUCCESS) *event = new hiptool::hip::ihipEvent_t{false};
  return entered;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->is_recorded = true;
  return need_stream(stream);
}
CUresult cuEventQuery(CUevent event) {
  return event->is_recorded ? static_cast<CUresult>(600) : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  *milliseconds = 1.0F;
  return start->is_recorded && stop->is_recorded ? CUDA_SUCCESS : static_cast<CUresult>(400);
}

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned, CUstream stream, void**,
                        void** extra) {
  if (block_x * block_y * block_z > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) std::memcpy(the_state.extra.data(), extra, sizeof(the_state.extra));
  the_state.launch_ordinals = {current->ordinal,
                               stream != nullptr ? stream->context->ordinal : current->ordinal};
  return CUDA_SUCCESS;
}

}  // extern "C"
