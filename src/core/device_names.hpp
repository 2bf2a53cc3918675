// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "hip/properties.hpp"
#include "hiptool/device.hpp"

namespace hiptool::core {

/// Name and arch of the device, or nothing, which goes to the trace. A failing call is repeated
/// once, because without the arch no kernel can be chosen.
std::optional<hip::DeviceNames> read_names(const Device& device);

}  // namespace hiptool::core
