// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "core/lost_devices.hpp"
#include "hip/api.hpp"
#include "hiptool/platform.hpp"
#include "hiptool/trace.hpp"

namespace hiptool::core {

/// What the devices of one bound platform share. Held by every Device, so it lives as long as any
/// object made on one.
struct PlatformState {
  Platform platform = Platform::cpu;
  const hip::Api* api = nullptr;
  int device_count = 0;
  std::shared_ptr<TraceSink> trace;
  std::unique_ptr<LostDevices> lost_devices = std::make_unique<LostDevices>(device_count);

  void note(std::string_view source, std::string_view text) const noexcept {
    if (trace) trace->note(source, text);
  }
};

}  // namespace hiptool::core
