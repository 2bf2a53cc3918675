// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>

#include "hip/nvidia/attributes.hpp"
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

hipError_t init(unsigned flags) { return finish(cuda().cuInit(flags)); }

/// There is no runtime beside the driver, so both versions are the driver's: 13000 is 13.0.
hipError_t get_version(int* version) { return finish(cuda().cuDriverGetVersion(version)); }

hipError_t get_device_count(int* count) {
  if (count == nullptr) return finish(hipErrorInvalidValue);
  *count = device_count();
  return finish(*count == 0 ? hipErrorNoDevice : hipSuccess);
}

hipError_t get_device(int* ordinal) {
  if (ordinal == nullptr) return finish(hipErrorInvalidValue);
  if (device_count() == 0) return finish(hipErrorNoDevice);
  *ordinal = current_ordinal();
  return hipSuccess;
}

hipError_t set_device(int ordinal) { return finish(set_current_ordinal(ordinal)); }

/// Runs a driver call on the device of an ordinal; no context is needed for these.
template <class Call>
hipError_t on_device(int ordinal, Call&& call) {
  CUdevice device = 0;
  const hipError_t error = find_device(ordinal, device);
  return finish_after(error, [&] { return call(device); });
}

hipError_t set_device_flags(unsigned flags) {
  return on_device(current_ordinal(), [flags](CUdevice device) {
    return cuda().cuDevicePrimaryCtxSetFlags_v2(device, flags);
  });
}

hipError_t synchronize_device() {
  return finish_after(enter_device(), [] { return cuda().cuCtxSynchronize(); });
}

hipError_t get_device_handle(hipDevice_t* device, int ordinal) {
  if (device == nullptr) return finish(hipErrorInvalidValue);
  CUdevice ignored = 0;
  const hipError_t error = find_device(ordinal, ignored);
  if (error == hipSuccess) *device = ordinal;
  return finish(error);
}

hipError_t get_name(char* name, int length, hipDevice_t ordinal) {
  return on_device(ordinal,
                   [=](CUdevice device) { return cuda().cuDeviceGetName(name, length, device); });
}

hipError_t get_uuid(hipUUID* uuid, hipDevice_t ordinal) {
  return on_device(ordinal, [uuid](CUdevice device) {
    const CUresult result = cuda().cuDeviceGetUuid_v2(uuid, device);
    return result == CUDA_ERROR_NOT_SUPPORTED ? cuda().cuDeviceGetUuid(uuid, device) : result;
  });
}

hipError_t get_total_memory(std::size_t* bytes, hipDevice_t ordinal) {
  return on_device(ordinal,
                   [bytes](CUdevice device) { return cuda().cuDeviceTotalMem_v2(bytes, device); });
}

hipError_t get_attribute(int* value, hipDeviceAttribute_t attribute, int ordinal) {
  const auto number = to_cuda(attribute);
  if (value == nullptr || !number) return finish(hipErrorInvalidValue);
  return on_device(ordinal, [&](CUdevice device) {
    return cuda().cuDeviceGetAttribute(value, *number, device);
  });
}

hipError_t get_compute_capability(int* major, int* minor, hipDevice_t ordinal) {
  const hipError_t error = get_attribute(major, hipDeviceAttributeComputeCapabilityMajor, ordinal);
  if (error != hipSuccess) return error;
  return get_attribute(minor, hipDeviceAttributeComputeCapabilityMinor, ordinal);
}

hipError_t get_pci_bus_id(char* id, int length, int ordinal) {
  return on_device(ordinal,
                   [=](CUdevice device) { return cuda().cuDeviceGetPCIBusId(id, length, device); });
}

hipError_t get_by_pci_bus_id(int* ordinal, const char* id) {
  if (ordinal == nullptr || id == nullptr) return finish(hipErrorInvalidValue);
  CUdevice device = 0;
  const CUresult result = cuda().cuDeviceGetByPCIBusId(&device, id);
  if (result != CUDA_SUCCESS) return finish(result);
  const int found = ordinal_of(device);
  if (found < 0) return finish(hipErrorInvalidDevice);
  *ordinal = found;
  return hipSuccess;
}

struct PropertyField {
  std::size_t offset;
  CUdevice_attribute attribute;
};

/// Int fields of the R0600 layout (hipDeviceProp_t of HIP 6 and 7).
constexpr PropertyField property_ints[] = {
    {304, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    {308, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {320, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {324, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {328, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {332, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {336, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {340, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {344, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {348, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {360, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {364, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {388, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {392, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT},
    {396, CU_DEVICE_ATTRIBUTE_INTEGRATED},
    {400, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
    {404, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
    {576, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {580, CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
    {584, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
    {588, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
    {592, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
    {600, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {604, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {608, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    {612, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {616, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {624, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {628, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
    {648, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {652, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
};

/// Fields that are size_t in the struct and int as attributes.
constexpr PropertyField property_sizes[] = {
    {296, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {312, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
    {352, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {640, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
};
constexpr std::size_t uuid_offset = 256;

int attribute_or_zero(CUdevice_attribute attribute, CUdevice device) {
  int value = 0;
  return cuda().cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

template <class Value>
void put(char* properties, std::size_t offset, Value value) {
  std::memcpy(properties + offset, &value, sizeof(value));
}

hipError_t get_properties(void* properties, int ordinal) {
  CUdevice device = 0;
  if (properties == nullptr) return finish(hipErrorInvalidValue);
  if (const hipError_t error = find_device(ordinal, device); error != hipSuccess) {
    return finish(error);
  }
  constexpr PropertyLayout layout = property_layout_r0600;
  char* bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, layout.size_bytes);
  CUresult result = cuda().cuDeviceGetName(bytes + layout.name_offset,
                                           static_cast<int>(property_name_bytes), device);
  if (result != CUDA_SUCCESS) return finish(result);
  std::size_t total = 0;
  result = cuda().cuDeviceTotalMem_v2(&total, device);
  if (result != CUDA_SUCCESS) return finish(result);
  put(bytes, layout.total_global_mem_offset, total);
  hipUUID uuid{};
  if (cuda().cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS ||
      cuda().cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
    put(bytes, uuid_offset, uuid);
  }
  for (const PropertyField& field : property_ints) {
    put(bytes, field.offset, attribute_or_zero(field.attribute, device));
  }
  for (const PropertyField& field : property_sizes) {
    put(bytes, field.offset, static_cast<std::size_t>(attribute_or_zero(field.attribute, device)));
  }
  std::snprintf(bytes + layout.gcn_arch_name_offset, property_name_bytes, "sm_%d%d",
                attribute_or_zero(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                attribute_or_zero(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  return hipSuccess;
}

hipError_t can_access_peer(int* can_access, int ordinal, int peer) {
  CUdevice peer_device = 0;
  if (can_access == nullptr) return finish(hipErrorInvalidValue);
  if (const hipError_t error = find_device(peer, peer_device); error != hipSuccess) {
    return finish(error);
  }
  return on_device(ordinal, [&](CUdevice device) {
    *can_access = 0;  // HIP: a device is no peer of itself
    return ordinal == peer ? CUDA_SUCCESS
                           : cuda().cuDeviceCanAccessPeer(can_access, device, peer_device);
  });
}

/// Peer calls name the other side's context, which must exist; the own one is made current last.
template <class Call>
hipError_t with_peer(int peer, Call&& call) {
  CUcontext context = nullptr;
  hipError_t error = find_context(peer, context);
  if (error == hipSuccess) error = enter_device();
  return finish_after(error, [&] { return call(context); });
}

hipError_t enable_peer_access(int peer, unsigned flags) {
  if (peer == current_ordinal()) return finish(hipErrorInvalidDevice);
  return with_peer(
      peer, [flags](CUcontext context) { return cuda().cuCtxEnablePeerAccess(context, flags); });
}

hipError_t disable_peer_access(int peer) {
  return with_peer(peer, [](CUcontext context) { return cuda().cuCtxDisablePeerAccess(context); });
}

hipError_t get_p2p_attribute(int* value, hipDeviceP2PAttr attribute, int source, int destination) {
  if (value == nullptr || attribute < hipDevP2PAttrPerformanceRank ||
      attribute > hipDevP2PAttrHipArrayAccessSupported) {
    return finish(hipErrorInvalidValue);
  }
  CUdevice destination_device = 0;
  if (const hipError_t error = find_device(destination, destination_device); error != hipSuccess) {
    return finish(error);
  }
  return on_device(source, [&](CUdevice source_device) {
    return cuda().cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attribute + 1),
                                          source_device, destination_device);
  });
}

}  // namespace

void fill_devices(Api& api) {
  api.hipInit = init;
  api.hipRuntimeGetVersion = get_version;
  api.hipDriverGetVersion = get_version;
  api.hipGetErrorName = name_of;
  api.hipGetErrorString = text_of;
  api.hipGetLastError = take_last_error;
  api.hipGetDeviceCount = get_device_count;
  api.hipGetDevice = get_device;
  api.hipSetDevice = set_device;
  api.hipSetDeviceFlags = set_device_flags;
  api.hipDeviceSynchronize = synchronize_device;
  api.hipDeviceGet = get_device_handle;
  api.hipDeviceGetName = get_name;
  api.hipDeviceGetUuid = get_uuid;
  api.hipDeviceTotalMem = get_total_memory;
  api.hipDeviceGetAttribute = get_attribute;
  api.hipDeviceComputeCapability = get_compute_capability;
  api.hipDeviceGetPCIBusId = get_pci_bus_id;
  api.hipDeviceGetByPCIBusId = get_by_pci_bus_id;
  api.hipGetDevicePropertiesR0600 = get_properties;
  api.hipDeviceCanAccessPeer = can_access_peer;
  api.hipDeviceEnablePeerAccess = enable_peer_access;
  api.hipDeviceDisablePeerAccess = disable_peer_access;
  api.hipDeviceGetP2PAttribute = get_p2p_attribute;
}

}  // namespace hiptool::hip::nvidia
