// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "hip/properties.hpp"
#include "hiptool/device.hpp"

namespace hiptool::core {

/// Name and arch of the device, or nothing, which goes to the trace. A failing call is made once
/// more: without the arch no kernel can be chosen, so one bad answer is not to decide that.
std::optional<hip::DeviceNames> read_names(const Device& device);

}  // namespace hiptool::core
