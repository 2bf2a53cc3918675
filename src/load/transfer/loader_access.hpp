// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "hiptool/async_loader.hpp"
#include "load/transfer/device_ring.hpp"

namespace hiptool::load {

/// What a load of files uses of an AsyncLoader beyond its public part.
struct LoaderAccess {
  /// With all options of transfers; see DeviceRing.
  static std::unique_ptr<AsyncLoader> make(const Device& device, TransferOptions options);
  static DeviceRing& ring_of(AsyncLoader& loader) noexcept;
};

}  // namespace hiptool::load
