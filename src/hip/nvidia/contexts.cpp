// SPDX-License-Identifier: MIT
#include "hip/nvidia/contexts.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/nvidia/driver.hpp"
#include "hip/nvidia/errors.hpp"

namespace hiptool::hip::nvidia {
namespace {

struct DeviceSlot {
  CUdevice device = 0;
  std::mutex mutex;  // held while the context is being retained
  std::atomic<CUcontext> context = nullptr;
};

using DeviceSlots = std::vector<std::unique_ptr<DeviceSlot>>;

/// Never destroyed: other threads may still be in a call while the process exits.
DeviceSlots& slots() noexcept {
  static DeviceSlots& list = *new DeviceSlots;
  return list;
}

thread_local int thread_ordinal = 0;

hipError_t check_ordinal(int ordinal) noexcept {
  if (slots().empty()) return hipErrorNoDevice;
  return ordinal >= 0 && ordinal < device_count() ? hipSuccess : hipErrorInvalidDevice;
}

DeviceSlot& slot(int ordinal) noexcept { return *slots()[static_cast<std::size_t>(ordinal)]; }

hipError_t make_current(CUcontext context) noexcept {
  return translate(cuda().cuCtxSetCurrent(context));
}

}  // namespace

CUresult list_devices() {
  slots().clear();
  int count = 0;
  if (const CUresult result = cuda().cuDeviceGetCount(&count); result != CUDA_SUCCESS) {
    return result;
  }
  DeviceSlots found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    found.push_back(std::make_unique<DeviceSlot>());
    const CUresult result = cuda().cuDeviceGet(&found.back()->device, ordinal);
    if (result != CUDA_SUCCESS) return result;
  }
  slots() = std::move(found);
  return CUDA_SUCCESS;
}

int device_count() noexcept { return static_cast<int>(slots().size()); }

hipError_t find_device(int ordinal, CUdevice& device) noexcept {
  const hipError_t error = check_ordinal(ordinal);
  if (error == hipSuccess) device = slot(ordinal).device;
  return error;
}

int current_ordinal() noexcept { return thread_ordinal; }

hipError_t set_current_ordinal(int ordinal) noexcept {
  const hipError_t error = check_ordinal(ordinal);
  if (error == hipSuccess) thread_ordinal = ordinal;
  return error;
}

hipError_t find_context(int ordinal, CUcontext& context) noexcept {
  if (const hipError_t error = check_ordinal(ordinal); error != hipSuccess) return error;
  DeviceSlot& device = slot(ordinal);
  context = device.context.load(std::memory_order_acquire);
  if (context != nullptr) return hipSuccess;
  const std::lock_guard lock(device.mutex);
  context = device.context.load(std::memory_order_relaxed);
  if (context != nullptr) return hipSuccess;
  const CUresult result = cuda().cuDevicePrimaryCtxRetain(&context, device.device);
  if (result == CUDA_SUCCESS) device.context.store(context, std::memory_order_release);
  return translate(result);
}

hipError_t enter_device() noexcept {
  CUcontext context = nullptr;
  const hipError_t error = find_context(thread_ordinal, context);
  return error == hipSuccess ? make_current(context) : error;
}

hipError_t enter_any_device() noexcept {
  if (const hipError_t error = check_ordinal(thread_ordinal); error != hipSuccess) return error;
  if (slot(thread_ordinal).context.load(std::memory_order_acquire) != nullptr) {
    return enter_device();
  }
  for (const auto& device : slots()) {
    const CUcontext context = device->context.load(std::memory_order_acquire);
    if (context != nullptr) return make_current(context);
  }
  return enter_device();
}

hipError_t enter_stream(CUstream stream) noexcept {
  if (is_pseudo_stream(stream)) return enter_device();
  CUcontext context = nullptr;
  const CUresult result = cuda().cuStreamGetCtx(stream, &context);
  // Drivers before 9.2 lack this call; the thread's device is then the best choice.
  if (result == CUDA_ERROR_NOT_SUPPORTED) return enter_device();
  return result == CUDA_SUCCESS ? make_current(context) : translate(result);
}

hipError_t enter_null_stream(CUstream stream) noexcept {
  return is_pseudo_stream(stream) ? enter_device() : hipSuccess;
}

}  // namespace hiptool::hip::nvidia
