// SPDX-License-Identifier: MIT
#include "hip/cpu/devices.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "hip/cpu/calls.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/facts.hpp"
#include "hip/cpu/kernel_settings.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

std::atomic<int> known_count{1};
thread_local int device_of_thread = 0;

constexpr int max_int = std::numeric_limits<int>::max();

struct Peers {
  std::mutex mutex;
  std::array<std::bitset<max_devices>, max_devices> enabled;
};

Peers& peers() {
  static auto* const instance = new Peers;
  return *instance;
}

/// Copies text to a caller's buffer, cut to fit, always ended.
void copy_text(const std::string& text, char* destination, std::size_t bytes) {
  const std::size_t count = std::min(text.size(), bytes - 1);
  std::memcpy(destination, text.data(), count);
  destination[count] = '\0';
}

hipError_t hipGetDevice(int* ordinal) {
  if (ordinal == nullptr) return hipErrorInvalidValue;
  *ordinal = device_of_thread;
  return hipSuccess;
}

hipError_t hipDeviceSynchronize() {
  const hipError_t error = wait_for_device(device_of_thread);
  return error == hipSuccess ? failure_of_device(device_of_thread) : error;
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  if (name == nullptr || length <= 0) return hipErrorInvalidValue;
  if (!is_device(device)) return hipErrorInvalidDevice;
  copy_text(current_facts()->name, name, static_cast<std::size_t>(length));
  return hipSuccess;
}

hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  if (bytes == nullptr) return hipErrorInvalidValue;
  if (!is_device(device)) return hipErrorInvalidDevice;
  *bytes = current_facts()->memory_bytes;
  return hipSuccess;
}

std::optional<int> capability_of(hipDeviceAttribute_t attribute) {
  switch (attribute) {
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeDirectManagedMemAccessFromHost:
    case hipDeviceAttributeHostNativeAtomicSupported:
    case hipDeviceAttributeHostRegisterSupported:
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
    case hipDeviceAttributeUnifiedAddressing: return 1;
    case hipDeviceAttributeComputeMode:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributeMemoryPoolSupportedHandleTypes:
    case hipDeviceAttributeStreamPrioritiesSupported:  // accepted, but all workers are equal
    case hipDeviceAttributeVirtualMemoryManagementSupported: return 0;
    default: return std::nullopt;
  }
}

std::optional<int> limit_of(hipDeviceAttribute_t attribute) {
  const auto facts = current_facts();
  switch (attribute) {
    case hipDeviceAttributeAsyncEngineCount: return std::min(facts->cores, 2);
    case hipDeviceAttributeClockRate: return facts->clock_khz;
    case hipDeviceAttributeL2CacheSize: return facts->l2_cache_bytes;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount: return facts->cores;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor: return 1;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxThreadsPerMultiProcessor: return max_threads_per_block;
    case hipDeviceAttributeMaxGridDimX:
    case hipDeviceAttributeMaxPitch: return max_int;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ: return max_grid_yz;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: return shared_bytes_per_block;
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor: return most_shared_bytes_per_block;
    case hipDeviceAttributeWarpSize: return static_cast<int>(warp_size());
    default: return std::nullopt;
  }
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int ordinal) {
  if (value == nullptr) return hipErrorInvalidValue;
  if (!is_device(ordinal)) return hipErrorInvalidDevice;
  std::optional<int> found = capability_of(attribute);
  if (!found) found = limit_of(attribute);
  if (!found) return hipErrorInvalidValue;  // a caller takes it for "unknown"
  *value = *found;
  return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  constexpr std::size_t max_threads_per_block_offset = 320;
  constexpr std::size_t multiprocessor_count_offset = 388;
  constexpr std::size_t arch_name_bytes = 256;
  if (properties == nullptr) return hipErrorInvalidValue;
  if (!is_device(ordinal)) return hipErrorInvalidDevice;
  const PropertyLayout& layout = property_layout_r0600;
  const auto facts = current_facts();
  char* const base = static_cast<char*>(properties);
  const auto put = [base](std::size_t offset, const auto& value) {
    std::memcpy(base + offset, &value, sizeof(value));
  };
  std::memset(base, 0, layout.size_bytes);
  copy_text(facts->name, base + layout.name_offset, property_name_bytes);
  copy_text(facts->arch, base + layout.gcn_arch_name_offset, arch_name_bytes);
  put(layout.total_global_mem_offset, facts->memory_bytes);
  put(layout.warp_size_offset, warp_size());
  put(max_threads_per_block_offset, max_threads_per_block);
  put(multiprocessor_count_offset, facts->cores);
  return hipSuccess;
}

hipError_t hipDeviceCanAccessPeer(int* can_access, int ordinal, int peer) {
  if (can_access == nullptr) return hipErrorInvalidValue;
  if (!is_device(ordinal) || !is_device(peer)) return hipErrorInvalidDevice;
  *can_access = ordinal != peer ? 1 : 0;
  return hipSuccess;
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  if (!is_device(peer) || peer == device_of_thread) return hipErrorInvalidDevice;
  const std::lock_guard lock(peers().mutex);
  auto& enabled = peers().enabled[static_cast<std::size_t>(device_of_thread)];
  const auto bit = static_cast<std::size_t>(peer);
  if (enabled.test(bit)) return hipErrorPeerAccessAlreadyEnabled;
  enabled.set(bit);
  return hipSuccess;
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return hipErrorInvalidDevice;
  const std::lock_guard lock(peers().mutex);
  auto& enabled = peers().enabled[static_cast<std::size_t>(device_of_thread)];
  const auto bit = static_cast<std::size_t>(peer);
  if (!enabled.test(bit)) return hipErrorPeerAccessNotEnabled;
  enabled.reset(bit);
  return hipSuccess;
}

}  // namespace

int known_device_count() { return known_count.load(); }

void raise_known_device_count(int count) {
  int known = known_count.load();
  while (known < count && !known_count.compare_exchange_weak(known, count)) {
  }
}

bool is_device(int ordinal) { return ordinal >= 0 && ordinal < known_device_count(); }

int current_device() { return device_of_thread; }

void set_current_device(int ordinal) { device_of_thread = ordinal; }

void add_device_calls(Api& api) {
  api.hipGetDevice = &Entry<&hipGetDevice>::call;
  api.hipDeviceSynchronize = &Entry<&hipDeviceSynchronize>::call;
  api.hipDeviceGetName = &Entry<&hipDeviceGetName>::call;
  api.hipDeviceTotalMem = &Entry<&hipDeviceTotalMem>::call;
  api.hipDeviceGetAttribute = &Entry<&hipDeviceGetAttribute>::call;
  api.hipGetDevicePropertiesR0600 = &Entry<&hipGetDevicePropertiesR0600>::call;
  api.hipDeviceCanAccessPeer = &Entry<&hipDeviceCanAccessPeer>::call;
  api.hipDeviceEnablePeerAccess = &Entry<&hipDeviceEnablePeerAccess>::call;
  api.hipDeviceDisablePeerAccess = &Entry<&hipDeviceDisablePeerAccess>::call;
}

}  // namespace hiptool::hip::cpu
