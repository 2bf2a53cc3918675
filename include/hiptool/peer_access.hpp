// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

// Access of one device to the memory of another of the same platform, for the whole process, until
// it is disabled. copy_peer() works without it too, only slower where the runtime then goes through
// the host. Error(invalid_argument) for devices of different platforms; none of them blocks on
// queued work.

/// Whether the device can reach the peer's memory; false for a device and itself. Throws what the
/// runtime answered.
HIPTOOL_API bool can_access_peer(const Device& device, const Device& peer);

/// Lets the device reach the peer's memory. False when it could already (hipErrorPeerAccess-
/// AlreadyEnabled): somebody else in the process has enabled it and may rely on it. Throws what the
/// runtime answered otherwise, such as Error(device) with hipErrorInvalidDevice for a device and
/// itself.
HIPTOOL_API bool enable_peer_access(const Device& device, const Device& peer);

/// Takes the access back. False when there was none (hipErrorPeerAccessNotEnabled).
HIPTOOL_API bool disable_peer_access(const Device& device, const Device& peer);

}  // namespace hiptool
