// SPDX-License-Identifier: MIT
#include "results/model/needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hiptool::results {
namespace {

// An estimate has one or two digits.
std::string about(double time_s) {
  if (time_s < 1) return "1 s";
  if (time_s < 120) return fmt::format("{:.0f} s", time_s);
  if (time_s < 7200) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.0f} h", time_s / 3600);
}

}  // namespace

report::Value needs_value(const reference::Needs& needs) {
  return report::Object{{"device_bytes", needs.device_bytes},
                        {"host_bytes", needs.host_bytes},
                        {"host_time_s", needs.host_time_s},
                        {"golden_time_s", needs.golden_time_s}};
}

std::string needs_text(const reference::Needs& needs) {
  return fmt::format(
      "a proof needs {} on the device besides the weights, at most {} here, and about {} of this "
      "host's {}; --write-golden about {}",
      format_size(needs.device_bytes), format_size(needs.host_bytes), about(needs.host_time_s),
      base::count_of(std::max(1u, std::thread::hardware_concurrency()), "core"),
      about(needs.golden_time_s));
}

}  // namespace hiptool::results
