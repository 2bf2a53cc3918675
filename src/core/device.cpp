// SPDX-License-Identifier: MIT
#include "hiptool/device.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>

#include "core/call.hpp"
#include "core/device_names.hpp"
#include "core/platform_state.hpp"
#include "system/pci.hpp"

namespace hiptool {
namespace {

using core::call;
using core::query;
using hip::Api;

// An attribute that cannot be read is unknown, not an error.
std::optional<std::uint64_t> attribute(const Device& device, hip::hipDeviceAttribute_t number) {
  int value = 0;
  if (!query<&Api::hipDeviceGetAttribute>(device, &value, number, device.native_handle()) ||
      value < 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> kilohertz(const Device& device, hip::hipDeviceAttribute_t number) {
  const auto value = attribute(device, number);
  if (!value || *value == 0) return std::nullopt;
  return *value * 1000;
}

std::optional<bool> flag(const Device& device, hip::hipDeviceAttribute_t number) {
  const auto value = attribute(device, number);
  if (!value) return std::nullopt;
  return *value != 0;
}

// AMD stores 16 ASCII characters (fewer where the chip has no serial number), CUDA 16 raw bytes
// that its tools print as GPU-8-4-4-4-12, and of an instance of a divided GPU as MIG-8-4-4-4-12.
std::optional<std::string> uuid_text(const hip::hipUUID& uuid, bool is_mig_instance) {
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes), is_hex)) {
    return "GPU-" + std::string(std::begin(uuid.bytes), std::end(uuid.bytes));
  }
  if (uuid.bytes[0] == 'X' && uuid.bytes[1] == 'X') return std::nullopt;
  if (std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes), [](char c) { return c == 0; })) {
    return std::nullopt;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = is_mig_instance ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

// The driver names instances "NVIDIA A100-SXM4-40GB MIG 1g.5gb" (NVIDIA's MIG user guide).
std::optional<std::string> read_uuid(const Device& device, const std::string& name) {
  hip::hipUUID uuid{};
  if (!query<&Api::hipDeviceGetUuid>(device, &uuid, device.native_handle())) return std::nullopt;
  return uuid_text(uuid, name.find(" MIG ") != std::string::npos);
}

std::optional<std::string> read_pci_bus_id(const Device& device) {
  std::array<char, 64> text{};
  if (!query<&Api::hipDeviceGetPCIBusId>(device, text.data(), static_cast<int>(text.size() - 1),
                                         device.native_handle())) {
    return std::nullopt;
  }
  std::string id = system::normalize_bus_id(text.data());
  if (id.empty()) return std::nullopt;
  return id;
}

std::string read_name(const Device& device) {
  std::array<char, 256> text{};
  if (!query<&Api::hipDeviceGetName>(device, text.data(), static_cast<int>(text.size() - 1),
                                     device.native_handle())) {
    return {};
  }
  return text.data();
}

DeviceInfo read_info(const Device& device, const std::optional<hip::DeviceNames>& names) {
  DeviceInfo info;
  info.name = read_name(device);
  if (names) {
    if (info.name.empty()) info.name = names->name;
    info.arch = names->arch;
  }
  info.uuid = read_uuid(device, info.name);
  info.pci_bus_id = read_pci_bus_id(device);
  std::size_t total_bytes = 0;
  if (query<&Api::hipDeviceTotalMem>(device, &total_bytes, device.native_handle())) {
    info.memory_total_bytes = total_bytes;
  }
  // On RDNA both counts are WGPs, half of the compute units, unless GPU_ENABLE_WGP_MODE=0 is set.
  info.compute_units = attribute(device, hip::hipDeviceAttributePhysicalMultiProcessorCount);
  if (!info.compute_units) {
    info.compute_units = attribute(device, hip::hipDeviceAttributeMultiprocessorCount);
  }
  info.warp_size = attribute(device, hip::hipDeviceAttributeWarpSize);
  info.clock_hz = kilohertz(device, hip::hipDeviceAttributeClockRate);
  info.memory_clock_hz = kilohertz(device, hip::hipDeviceAttributeMemoryClockRate);
  info.memory_bus_width_bits = attribute(device, hip::hipDeviceAttributeMemoryBusWidth);
  info.l2_cache_bytes = attribute(device, hip::hipDeviceAttributeL2CacheSize);
  info.max_threads_per_block = attribute(device, hip::hipDeviceAttributeMaxThreadsPerBlock);
  info.shared_memory_per_block_bytes =
      attribute(device, hip::hipDeviceAttributeMaxSharedMemoryPerBlock);
  info.integrated = flag(device, hip::hipDeviceAttributeIntegrated);
  info.ecc_enabled = flag(device, hip::hipDeviceAttributeEccEnabled);
  return info;
}

void require_same_platform(const char* operation, const Device& device, const Device& peer) {
  if (device.platform() == peer.platform()) return;
  throw Error(ErrorCode::invalid_argument, operation,
              std::string(operation) + ": " + device.id() + " and " + peer.id() +
                  " are of different platforms");
}

std::string subject_of(const Device& peer) { return "memory of " + peer.id(); }

}  // namespace

Device::Device(std::shared_ptr<const core::PlatformState> state, int ordinal)
    : state_(std::move(state)), ordinal_(ordinal) {}

Device core::Access::make_device(std::shared_ptr<const PlatformState> state, int ordinal) {
  return Device(std::move(state), ordinal);
}

Platform Device::platform() const noexcept { return state_->platform; }

int Device::ordinal() const noexcept {
  const auto index = static_cast<std::size_t>(ordinal_);
  return index < state_->ordinals.size() ? state_->ordinals[index] : ordinal_;
}

std::string Device::id() const {
  return std::string(to_string(platform())) + ":" + std::to_string(ordinal());
}

bool Device::is_host_memory() const noexcept { return platform() == Platform::cpu; }

bool operator==(const Device& left, const Device& right) noexcept {
  return left.ordinal_ == right.ordinal_ && left.state_->platform == right.state_->platform;
}

DeviceInfo Device::info() const {
  core::require_usable(*this);
  core::KnownDevices& known = *state_->known_devices;
  const std::lock_guard lock(known.mutex);
  if (const auto found = known.infos.find(ordinal_); found != known.infos.end()) {
    return found->second;
  }
  const auto names = core::read_names(*this);
  DeviceInfo info = read_info(*this, names);
  // What a runtime did not tell, it may tell the next time.
  if (names && !core::is_lost(*this)) known.infos.emplace(ordinal_, info);
  return info;
}

MemoryInfo Device::memory() const {
  const DeviceGuard guard(*this);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  call<&Api::hipMemGetInfo>(*this, {}, &free_bytes, &total_bytes);
  return {free_bytes, total_bytes};
}

// Querying memory is the cheapest call that needs a context in every runtime.
void Device::start() const { static_cast<void>(memory()); }

DeviceGuard::DeviceGuard(const Device& device) : device_(device) {
  int current = -1;
  call<&Api::hipGetDevice>(device, {}, &current);
  if (current == device.native_handle()) return;
  call<&Api::hipSetDevice>(device, {}, device.native_handle());
  previous_ = current;
}

DeviceGuard::~DeviceGuard() {
  if (previous_ >= 0) core::release<&Api::hipSetDevice>(device_, previous_);
}

bool can_access_peer(const Device& device, const Device& peer) {
  require_same_platform("hipDeviceCanAccessPeer", device, peer);
  int can_access = 0;
  core::call<&Api::hipDeviceCanAccessPeer>(device, {}, &can_access, device.native_handle(),
                                           peer.native_handle());
  return can_access != 0;
}

bool enable_peer_access(const Device& device, const Device& peer) {
  require_same_platform("hipDeviceEnablePeerAccess", device, peer);
  const DeviceGuard guard(device);
  const hip::hipError_t error =
      core::api_of(device).hipDeviceEnablePeerAccess(peer.native_handle(), 0);
  if (error == hip::hipErrorPeerAccessAlreadyEnabled) return false;
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipDeviceEnablePeerAccess", error, subject_of(peer));
  }
  return true;
}

bool disable_peer_access(const Device& device, const Device& peer) {
  require_same_platform("hipDeviceDisablePeerAccess", device, peer);
  const DeviceGuard guard(device);
  const hip::hipError_t error =
      core::api_of(device).hipDeviceDisablePeerAccess(peer.native_handle());
  if (error == hip::hipErrorPeerAccessNotEnabled) return false;
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipDeviceDisablePeerAccess", error, subject_of(peer));
  }
  return true;
}

}  // namespace hiptool
