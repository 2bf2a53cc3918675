// SPDX-License-Identifier: MIT
#include "hiptool/peer_access.hpp"

#include "core/call.hpp"

namespace hiptool {
namespace {

using hip::Api;

void require_same_platform(const char* operation, const Device& device, const Device& peer) {
  if (device.platform() == peer.platform()) return;
  throw Error(ErrorCode::invalid_argument, operation,
              std::string(operation) + ": " + device.id() + " and " + peer.id() +
                  " are of different platforms");
}

std::string subject_of(const Device& peer) { return "memory of " + peer.id(); }

}  // namespace

bool can_access_peer(const Device& device, const Device& peer) {
  require_same_platform("hipDeviceCanAccessPeer", device, peer);
  int can_access = 0;
  core::call<&Api::hipDeviceCanAccessPeer>(device, {}, &can_access, device.ordinal(),
                                           peer.ordinal());
  return can_access != 0;
}

bool enable_peer_access(const Device& device, const Device& peer) {
  require_same_platform("hipDeviceEnablePeerAccess", device, peer);
  const DeviceGuard guard(device);
  const hip::hipError_t error = device.api().hipDeviceEnablePeerAccess(peer.ordinal(), 0);
  if (error == hip::hipErrorPeerAccessAlreadyEnabled) return false;
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipDeviceEnablePeerAccess", error, subject_of(peer));
  }
  return true;
}

bool disable_peer_access(const Device& device, const Device& peer) {
  require_same_platform("hipDeviceDisablePeerAccess", device, peer);
  const DeviceGuard guard(device);
  const hip::hipError_t error = device.api().hipDeviceDisablePeerAccess(peer.ordinal());
  if (error == hip::hipErrorPeerAccessNotEnabled) return false;
  if (error != hip::hipSuccess) {
    throw core::call_error(device, "hipDeviceDisablePeerAccess", error, subject_of(peer));
  }
  return true;
}

}  // namespace hiptool
