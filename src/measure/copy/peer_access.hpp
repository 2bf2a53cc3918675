// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/device.hpp"

namespace hiptool::measure {

/// Access of one device to another's memory, disabled at the end if it was not enabled before.
class PeerAccess {
 public:
  /// Throws Error(unsupported) where the device has none.
  PeerAccess(const Device& device, const Device& peer);
  ~PeerAccess();
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

 private:
  Device device_;
  Device peer_;
  bool is_ours_;
};

}  // namespace hiptool::measure
