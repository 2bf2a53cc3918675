// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>

#include "hip/nvidia/attributes.hpp"
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

hipError_t init(unsigned flags) { return translate(cuda().cuInit(flags)); }

/// There is no runtime apart from the driver, so both versions are the driver's: 13000 is 13.0.
hipError_t get_version(int* version) { return translate(cuda().cuDriverGetVersion(version)); }

hipError_t get_device_count(int* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  *count = device_count();
  return *count == 0 ? hipErrorNoDevice : hipSuccess;
}

hipError_t get_device(int* ordinal) {
  if (ordinal == nullptr) return hipErrorInvalidValue;
  if (device_count() == 0) return hipErrorNoDevice;
  *ordinal = current_ordinal();
  return hipSuccess;
}

/// Runs a driver call on the device of an ordinal; no context is needed for these.
template <class Call>
hipError_t on_device(int ordinal, Call&& call) {
  CUdevice device = 0;
  const hipError_t error = find_device(ordinal, device);
  return call_after(error, [&] { return call(device); });
}

hipError_t synchronize_device() {
  return call_after(enter_device(), [] { return cuda().cuCtxSynchronize(); });
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
  if (value == nullptr || !number) return hipErrorInvalidValue;
  return on_device(ordinal, [&](CUdevice device) {
    return cuda().cuDeviceGetAttribute(value, *number, device);
  });
}

hipError_t get_pci_bus_id(char* id, int length, int ordinal) {
  return on_device(ordinal,
                   [=](CUdevice device) { return cuda().cuDeviceGetPCIBusId(id, length, device); });
}

/// The name, the architecture, and the warp size, by which read_device_names() recognises the
/// layout. Callers read everything else by attribute.
hipError_t get_properties(void* properties, int ordinal) {
  CUdevice device = 0;
  if (properties == nullptr) return hipErrorInvalidValue;
  if (const hipError_t error = find_device(ordinal, device); error != hipSuccess) {
    return error;
  }
  constexpr PropertyLayout layout = property_layout_r0600;
  char* bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, layout.size_bytes);
  const CUresult result = cuda().cuDeviceGetName(bytes + layout.name_offset,
                                                 static_cast<int>(property_name_bytes), device);
  if (result != CUDA_SUCCESS) return translate(result);
  int major = 0;
  int minor = 0;
  cuda().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuda().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  int warp_size = 0;
  cuda().cuDeviceGetAttribute(&warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
  std::memcpy(bytes + layout.warp_size_offset, &warp_size, sizeof(warp_size));
  std::snprintf(bytes + layout.gcn_arch_name_offset, property_name_bytes, "sm_%d%d", major, minor);
  return hipSuccess;
}

hipError_t can_access_peer(int* can_access, int ordinal, int peer) {
  CUdevice peer_device = 0;
  if (can_access == nullptr) return hipErrorInvalidValue;
  if (const hipError_t error = find_device(peer, peer_device); error != hipSuccess) {
    return error;
  }
  return on_device(ordinal, [&](CUdevice device) {
    *can_access = 0;  // HIP: a device is not a peer of itself
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
  return call_after(error, [&] { return call(context); });
}

hipError_t enable_peer_access(int peer, unsigned flags) {
  if (peer == current_ordinal()) return hipErrorInvalidDevice;
  return with_peer(
      peer, [flags](CUcontext context) { return cuda().cuCtxEnablePeerAccess(context, flags); });
}

hipError_t disable_peer_access(int peer) {
  return with_peer(peer, [](CUcontext context) { return cuda().cuCtxDisablePeerAccess(context); });
}

}  // namespace

void fill_devices(Api& api) {
  api.hipInit = init;
  api.hipRuntimeGetVersion = get_version;
  api.hipDriverGetVersion = get_version;
  api.hipGetErrorName = name_of;
  api.hipGetErrorString = text_of;
  api.hipGetDeviceCount = get_device_count;
  api.hipGetDevice = get_device;
  api.hipSetDevice = set_current_ordinal;
  api.hipDeviceSynchronize = synchronize_device;
  api.hipDeviceGetName = get_name;
  api.hipDeviceGetUuid = get_uuid;
  api.hipDeviceTotalMem = get_total_memory;
  api.hipDeviceGetAttribute = get_attribute;
  api.hipDeviceGetPCIBusId = get_pci_bus_id;
  api.hipGetDevicePropertiesR0600 = get_properties;
  api.hipDeviceCanAccessPeer = can_access_peer;
  api.hipDeviceEnablePeerAccess = enable_peer_access;
  api.hipDeviceDisablePeerAccess = disable_peer_access;
}

}  // namespace hiptool::hip::nvidia
