// SPDX-License-Identifier: MIT
#include "load/place/check_arenas.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "hiptool/error.hpp"

namespace hiptool::load {

void check_arenas(const LoadPlan& plan, std::span<const Buffer> arenas, const char* operation) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    throw Error(code, operation, std::string(operation) + ": " + why,
                "allocate a Buffer of layout.arena_bytes on each device of the plan");
  };
  if (arenas.size() != plan.devices.size()) {
    refuse(ErrorCode::invalid_argument, std::to_string(arenas.size()) +
                                            " arenas were given for a plan of " +
                                            base::plain_count_of(plan.devices.size(), "device"));
  }
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    const auto& [device, layout] = plan.devices[i];
    if (layout.placements.empty() && layout.arena_bytes == 0) continue;
    if (!arenas[i].has_device()) {
      refuse(ErrorCode::invalid_argument, "the arena for " + device.id() + " is on no device");
    }
    if (arenas[i].device() != device) {
      refuse(ErrorCode::invalid_argument,
             "the arena is on " + arenas[i].device().id() + ", not on " + device.id());
    }
    if (arenas[i].size_bytes() < layout.arena_bytes) {
      refuse(ErrorCode::out_of_bounds, "an arena of " +
                                           base::plain_count_of(arenas[i].size_bytes(), "byte") +
                                           " on " + device.id() + " is too small for a layout of " +
                                           base::plain_count_of(layout.arena_bytes, "byte"));
    }
  }
}

bool is_same_layout(const ArenaLayout& left, const ArenaLayout& right) {
  return left.arena_bytes == right.arena_bytes && left.tensor_bytes == right.tensor_bytes &&
         std::equal(left.placements.begin(), left.placements.end(), right.placements.begin(),
                    right.placements.end(), [](const Placement& one, const Placement& other) {
                      return one.tensor == other.tensor && one.device_offset == other.device_offset;
                    });
}

}  // namespace hiptool::load
