// SPDX-License-Identifier: MIT
#include "load/margin.hpp"

#include <algorithm>

namespace hiptool::load {

std::uint64_t margin_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept {
  constexpr std::uint64_t least_bytes = 64u << 20;
  return is_host_memory ? 0 : std::max(size_bytes / 20, least_bytes);
}

}  // namespace hiptool::load
