// SPDX-License-Identifier: MIT
/// Devices and their contexts. FAKE_CUDA_MEMORY_GIB and FAKE_CUDA_INTEGRATED are lists, an item for
/// each device.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "fakes/common/settings.hpp"
#include "fakes/cuda/call.hpp"
#include "fakes/cuda/faults.hpp"
#include "fakes/cuda/graphs.hpp"

using namespace hiptool::fake;

namespace {

struct AttributeValue {
  int number;  ///< CU_DEVICE_ATTRIBUTE_* of cuda.h
  int value;
};

/// An H200's, as far as the processor can keep to them.
constexpr std::array attribute_values{
    AttributeValue{1, 1024},     AttributeValue{2, 1024},        AttributeValue{3, 1024},
    AttributeValue{4, 1024},     AttributeValue{5, 2147483647},  AttributeValue{6, 65535},
    AttributeValue{7, 65535},    AttributeValue{8, 49152},       AttributeValue{9, 65536},
    AttributeValue{10, 32},      AttributeValue{11, 2147483647}, AttributeValue{12, 65536},
    AttributeValue{13, 1980000}, AttributeValue{16, 132},        AttributeValue{17, 0},
    AttributeValue{19, 1},       AttributeValue{20, 0},          AttributeValue{31, 1},
    AttributeValue{32, 1},       AttributeValue{34, 0},          AttributeValue{36, 3201000},
    AttributeValue{37, 6144},    AttributeValue{38, 62914560},   AttributeValue{39, 2048},
    AttributeValue{40, 3},       AttributeValue{41, 1},          AttributeValue{50, 0},
    AttributeValue{75, 9},       AttributeValue{76, 0},          AttributeValue{78, 1},
    AttributeValue{81, 233472},  AttributeValue{82, 65536},      AttributeValue{83, 1},
    AttributeValue{85, 0},       AttributeValue{86, 0},          AttributeValue{88, 0},
    AttributeValue{89, 1},       AttributeValue{91, 1},          AttributeValue{95, 1},
    AttributeValue{97, 232448},  AttributeValue{99, 1},          AttributeValue{100, 0},
    AttributeValue{101, 0},      AttributeValue{102, 1},         AttributeValue{106, 32},
    AttributeValue{113, 1},      AttributeValue{115, 1},         AttributeValue{119, 9},
};

bool has_no_peer(CUdevice device, CUdevice peer) {
  constexpr const char* variable = "FAKE_CUDA_NO_PEER";
  return text_from(variable, "") == "*" || fault_of(variable, device) == std::to_string(peer);
}

/// With FAKE_CUDA_MIG=1 the devices are instances of one divided GPU.
bool is_divided() { return number_from("FAKE_CUDA_MIG", 0) != 0; }

CUresult write_uuid(CUuuid* uuid, CUdevice device, int byte) {
  const CUresult result = enter_device(device);
  if (result == CUDA_SUCCESS) std::memset(uuid->bytes, byte, sizeof(uuid->bytes));
  return result;
}

}  // namespace

extern "C" {

CUresult cuDeviceGetCount(int* count) {
  if (const CUresult result = enter(); result != CUDA_SUCCESS) return result;
  count_devices();
  *count = device_count();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const CUresult result = enter_device(ordinal);
  if (result == CUDA_SUCCESS) *device = ordinal;
  return result;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (const CUresult result = enter_device(device); result != CUDA_SUCCESS) return result;
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string own = is_divided() ? "Fake GPU 0 MIG " + std::to_string(device + 1) + "g.10gb"
                                       : "Fake GPU " + std::to_string(device);
  const std::string text = text_from("FAKE_CUDA_NAME", own.c_str());
  std::snprintf(name, static_cast<std::size_t>(length), "%s", text.c_str());
  return CUDA_SUCCESS;
}
/// The first version gives the divided GPU's uuid, the second one the instance's.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return write_uuid(uuid, device, 0xA0 + (is_divided() ? 0 : device));
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return write_uuid(uuid, device, (is_divided() ? 0xB0 : 0xA0) + device);
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  if (const int gib = item_from("FAKE_CUDA_MEMORY_GIB", device); gib >= 0) {
    *bytes = static_cast<std::size_t>(gib) << 30;
    return enter_device(device);
  }
  return forward_after(enter_device(device), &Api::hipDeviceTotalMem, bytes, device);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (const CUresult result = enter_device(device); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr int pci_bus_id = 33;
  if (static_cast<int>(attribute) == pci_bus_id) {
    *value = device;
    return CUDA_SUCCESS;
  }
  constexpr int integrated = 18;
  if (static_cast<int>(attribute) == integrated) {
    *value = item_from("FAKE_CUDA_INTEGRATED", device) > 0 ? 1 : 0;
    return CUDA_SUCCESS;
  }
  constexpr int multiprocessors = 16;
  if (const int units = number_from("FAKE_CUDA_UNITS", 0);
      units > 0 && static_cast<int>(attribute) == multiprocessors) {
    *value = units;
    return CUDA_SUCCESS;
  }
  for (const AttributeValue& entry : attribute_values) {
    if (entry.number != static_cast<int>(attribute)) continue;
    *value = entry.value;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  if (const CUresult result = enter_device(device); result != CUDA_SUCCESS) return result;
  if (id == nullptr || length < 13) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(device));
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can_access, CUdevice device, CUdevice peer) {
  CUresult result = enter_device(device);
  if (result == CUDA_SUCCESS) result = enter_device(peer);
  if (result == CUDA_SUCCESS && has_no_peer(device, peer)) {
    *can_access = 0;
    return CUDA_SUCCESS;
  }
  return forward_after(result, &Api::hipDeviceCanAccessPeer, can_access, device, peer);
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (const CUresult result = enter_device(device); result != CUDA_SUCCESS) return result;
  ++state().retained[static_cast<std::size_t>(device)];
  *context = primary_context(device);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  const CUresult result = enter();
  if (result == CUDA_SUCCESS) make_current(context);
  return result;
}
CUresult cuCtxSynchronize() {
  const CUresult entered = enter_context();
  return forward_after(entered == CUDA_SUCCESS ? refuse_in_thread() : entered,
                       &Api::hipDeviceSynchronize);
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return forward(&Api::hipDeviceGetStreamPriorityRange, least, greatest);
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return forward(&Api::hipDeviceEnablePeerAccess, ordinal_of(peer), flags);
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return forward(&Api::hipDeviceDisablePeerAccess, ordinal_of(peer));
}

}  // extern "C"
