// SPDX-License-Identifier: MIT
#include "measure/copy/peer_access.hpp"

#include "core/call.hpp"
#include "hiptool/error.hpp"

namespace hiptool::measure {
namespace {

bool enable(const Device& device, const Device& peer) {
  if (can_access_peer(device, peer)) return enable_peer_access(device, peer);
  throw Error(ErrorCode::unsupported, "copy between devices",
              device.id() + " has no access to the memory of " + peer.id());
}

}  // namespace

PeerAccess::PeerAccess(const Device& device, const Device& peer)
    : device_(device), peer_(peer), is_ours_(enable(device, peer)) {}

PeerAccess::~PeerAccess() {
  if (!is_ours_) return;
  const core::QuietDeviceGuard guard(device_);
  core::release<&hip::Api::hipDeviceDisablePeerAccess>(device_, peer_.native_handle());
}

}  // namespace hiptool::measure
