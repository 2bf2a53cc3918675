// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "system/device_node.hpp"
#include "system/drivers.hpp"

namespace hiptool::system {

/// The cause of a failed open of a GPU's node and what to do. `node` is the path without a root
/// ("/dev/kfd"), `container_option` gives a container access to it.
DriverFinding explain_node_failure(int error_number, const std::string& node,
                                   const NodeOwner& owner, const std::string& container_option);

}  // namespace hiptool::system
