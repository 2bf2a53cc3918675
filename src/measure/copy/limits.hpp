// SPDX-License-Identifier: MIT
/// What a measurement can reach at most, and how that is known.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/device.hpp"
#include "measure/copy/link_sampler.hpp"
#include "measure/copy/spec.hpp"

namespace hiptool::measure {

struct CopyLimit {
  double bytes_per_s = 0;   ///< copied, each byte counted once
  std::string_view source;  ///< "probe", "pcie-link", "memory-clock", "sku-table" or "user"
  std::optional<std::uint64_t> l2_cache_bytes = std::nullopt;  ///< of a copy within one device
};

/// The limit of a measurement from the links as they were while it was measured (absent bus ids
/// count as unknown) and from memory clocks. Absent between devices: what joins them is not known
/// here.
std::optional<CopyLimit> limit_of(const CopySpec& spec, const std::vector<LinkObservation>& links);

}  // namespace hiptool::measure
