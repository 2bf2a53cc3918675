// SPDX-License-Identifier: MIT
/// Devices. FAKE_HIP_ARCH chooses their kind; with FAKE_HIP_ATTRIBUTE_ERRORS=1 no attribute can be
/// read. FAKE_HIP_MEMORY_GIB and FAKE_HIP_INTEGRATED are lists, an item for each device.
#include "fakes/hip/devices.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "fakes/common/settings.hpp"
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

namespace hiptool::fake {

const std::string& full_arch() {
  static const std::string arch = [] {
    std::string chosen = text_from("FAKE_HIP_ARCH", "gfx90a:sramecc+:xnack-");
    set_inner_warp_size(chosen.starts_with("gfx9") ? 64 : 32);
    return chosen;
  }();
  return arch;
}

std::string arch_name() { return full_arch().substr(0, full_arch().find(':')); }

bool is_rdna() { return !full_arch().starts_with("gfx9"); }

}  // namespace hiptool::fake

namespace {

constexpr int real_multiprocessors = 96;
constexpr int first_bus = 0x41;

int told_multiprocessors() { return is_rdna() ? real_multiprocessors / 2 : real_multiprocessors; }

int warp_size() { return is_rdna() ? 32 : 64; }

/// "gfx90a" is 9.0, "gfx1100" is 11.0: all but the last two digits, and the one after them.
int version_part(bool is_major) {
  const std::string name = arch_name();
  if (name.size() < 6) return 0;  // no name of an architecture
  const std::string digits = name.substr(3);
  const std::size_t length = digits.size() - 2;
  return is_major ? std::atoi(digits.substr(0, length).c_str()) : digits[length] - '0';
}

/// What the processor does not say of itself, or not as a GPU would.
std::optional<int> own_attribute(int attribute, int ordinal) {
  switch (attribute) {
    case 0: return 1;        // ECC
    case 2: return 2;        // async engines
    case 5: return 1700000;  // clock, kHz
    case 16: return std::max(0, item_from("FAKE_HIP_INTEGRATED", ordinal));
    case 19: return 8 << 20;  // L2
    case 23: return version_part(true);
    case 57: return 2048;     // threads of a multiprocessor
    case 59: return 4096;     // width of the memory's bus
    case 60: return 1600000;  // clock of the memory, kHz
    case 61: return version_part(false);
    case 63: return told_multiprocessors();
    case 67: return first_bus + ordinal;
    case 68: return 0;      // PCI slot
    case 69: return 0;      // PCI domain
    case 71: return 65536;  // registers of a block
    case 72: return 65536;
    case 83: return 65536;  // constant memory
    case 87: return warp_size();
    case 10015: return real_multiprocessors;
    default: return std::nullopt;
  }
}

/// Attributes have become more: 89 in 5.5, 90 in 6.0, 91 in 6.1.
bool is_known_attribute(int attribute) {
  return variant.major > 5 || (attribute != 89 && attribute != 90 && attribute != 91);
}

/// Offsets of one property struct (hipDeviceProp_t of 5.x, and of 6.0 and later).
struct Layout {
  std::size_t bytes, memory, shared, warp, threads, major, minor, count, bus, arch;
};
constexpr Layout r0000{792, 256, 264, 276, 280, 328, 332, 336, 368, 396};
constexpr Layout r0600{1472, 288, 296, 308, 320, 360, 364, 388, 584, 1160};

hipError_t write_properties(void* properties, const Layout& layout, int ordinal) {
  if (properties == nullptr) return hipErrorInvalidValue;
  if (const auto error = enter_device(ordinal); error != hipSuccess) return error;
  char* const base = static_cast<char*>(properties);
  const auto put = [base](std::size_t offset, const auto& value) {
    std::memcpy(base + offset, &value, sizeof(value));
  };
  std::memset(base, 0, layout.bytes);
  std::snprintf(base, 256, "Fake Instinct %d", ordinal);
  std::size_t memory_bytes = 0;
  static_cast<void>(inner().hipDeviceTotalMem(&memory_bytes, 0));
  put(layout.memory, memory_bytes);
  put(layout.shared, std::size_t{48} << 10);
  put(layout.warp, warp_size());
  put(layout.threads, 1024);
  put(layout.major, version_part(true));
  put(layout.minor, version_part(false));
  put(layout.count, told_multiprocessors());
  put(layout.bus, first_bus + ordinal);
  std::memcpy(base + layout.arch, full_arch().data(),
              std::min<std::size_t>(255, full_arch().size()));
  return hipSuccess;
}

}  // namespace

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  count_devices();
  *count = device_count();
  return *count > 0 ? hipSuccess : hipErrorNoDevice;
}
hipError_t hipGetDevice(int* ordinal) { return forward(&Api::hipGetDevice, ordinal); }
hipError_t hipSetDevice(int ordinal) {
  return forward_after(enter_device(ordinal), &Api::hipSetDevice, ordinal);
}
hipError_t hipDeviceSynchronize() { return forward(&Api::hipDeviceSynchronize); }

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  const hipError_t error = enter_device(device);
  if (error != hipSuccess) return error;
  if (name == nullptr || length <= 0) return hipErrorInvalidValue;
  std::snprintf(name, static_cast<std::size_t>(length), "Fake Instinct %d", device);
  return hipSuccess;
}

/// Letters, not raw bytes: what follows "GPU-" in the name that ROCr gives the device.
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  const hipError_t error = enter_device(device);
  if (error != hipSuccess || uuid == nullptr) {
    return error != hipSuccess ? error : hipErrorInvalidValue;
  }
  char text[sizeof(uuid->bytes) + 1];
  std::snprintf(text, sizeof(text), "5a1d00c0ffee%04x", static_cast<unsigned>(device));
  std::memcpy(uuid->bytes, text, sizeof(uuid->bytes));
  return hipSuccess;
}

hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  if (const int gib = item_from("FAKE_HIP_MEMORY_GIB", device); gib >= 0 && bytes != nullptr) {
    *bytes = static_cast<std::size_t>(gib) << 30;
    return enter_device(device);
  }
  return forward_after(enter_device(device), &Api::hipDeviceTotalMem, bytes, device);
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int ordinal) {
  if (value == nullptr) return hipErrorInvalidValue;
  if (const auto error = enter_device(ordinal); error != hipSuccess) return error;
  if (!is_known_attribute(attribute) || number_from("FAKE_HIP_ATTRIBUTE_ERRORS", 0) != 0) {
    return hipErrorInvalidValue;
  }
  const auto own = own_attribute(attribute, ordinal);
  if (!own) return forward(&Api::hipDeviceGetAttribute, value, attribute, ordinal);
  *value = *own;
  return hipSuccess;
}
hipError_t hipDeviceGetPCIBusId(char* id, int length, int ordinal) {
  if (id == nullptr || length < 13) return hipErrorInvalidValue;
  const hipError_t error = enter_device(ordinal);
  if (error == hipSuccess) {
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", first_bus + ordinal);
  }
  return error;
}
// The plain name is the old layout in every release: HIP 6 renamed the new one by a macro.
hipError_t hipGetDeviceProperties(void* properties, int ordinal) {
  return write_properties(properties, r0000, ordinal);
}
hipError_t hipGetDevicePropertiesR0000(void* properties, int ordinal) {
  return write_properties(properties, r0000, ordinal);
}
hipError_t hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  return write_properties(properties, r0600, ordinal);
}

hipError_t hipDeviceCanAccessPeer(int* can_access, int ordinal, int peer) {
  const hipError_t error = enter_device(ordinal);
  return forward_after(error == hipSuccess ? enter_device(peer) : error,
                       &Api::hipDeviceCanAccessPeer, can_access, ordinal, peer);
}
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return forward_after(enter_device(peer), &Api::hipDeviceEnablePeerAccess, peer, flags);
}
hipError_t hipDeviceDisablePeerAccess(int peer) {
  return forward_after(enter_device(peer), &Api::hipDeviceDisablePeerAccess, peer);
}
}  // extern "C"
