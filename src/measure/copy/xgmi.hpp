// SPDX-License-Identifier: MIT
/// The peak of the XGMI (Infinity Fabric) links between two AMD GPUs.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "system/kfd.hpp"

namespace hiptool::measure {

/// Bytes per second of one direction over all links between two neighbours, given by their PCI bus
/// ids. Absent for GPUs without a direct link, with an unknown number of links, or of an
/// architecture without a published figure; docs/peaks.md names the sources.
std::optional<double> xgmi_bytes_per_s(const std::vector<system::KfdNode>& nodes,
                                       std::string_view from, std::string_view to);

}  // namespace hiptool::measure
