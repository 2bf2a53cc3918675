// SPDX-License-Identifier: MIT
#include "measure/share.hpp"

#include "base/units.hpp"

namespace hiptool::measure {

Share share_of(double rate, double peak, const std::string& peak_name, const std::string& cause) {
  const double share = rate / peak;
  if (share <= most_share) return {share, {}, false};
  std::string reason = "the rate is " + format_share(share) + " of " + peak_name +
                       ", which is therefore not its limit";
  if (!cause.empty()) reason += ": " + cause;
  return {std::nullopt, std::move(reason), true};
}

std::string cache_cause(double data_bytes, std::optional<std::uint64_t> l2_cache_bytes) {
  if (!l2_cache_bytes || data_bytes > static_cast<double>(*l2_cache_bytes)) return {};
  return "the data (" + format_size(static_cast<std::uint64_t>(data_bytes)) +
         ") fit in the L2 cache of " + format_size(*l2_cache_bytes);
}

}  // namespace hiptool::measure
