// SPDX-License-Identifier: MIT
#include "measure/copy/thresholds.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace hiptool::measure {
namespace {

Error refuse_threshold(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "parse threshold", std::move(message), std::move(hint));
}

std::size_t parse_count(std::string_view part, std::string_view whole) {
  constexpr std::size_t most = 1000;
  const auto count = base::parse_number<std::size_t>(part);
  if (count && *count > 0 && *count <= most) return *count;
  throw refuse_threshold("--retry: '" + std::string(whole) + "' is not K/N",
                         "write it as 2/3: met when 2 of at most 3 measurements meet it");
}

/// A copy between devices is checked only if the threshold is for all of them.
bool is_for_copy(const Threshold& threshold, const CopySpec& spec) {
  const bool is_of_latency = threshold.of == Threshold::Of::latency_s;
  return spec.is_latency == is_of_latency && is_selected(spec, threshold.selector) &&
         std::ranges::all_of(spec.devices,
                             [&](const Device& device) { return is_for(threshold, device.id()); });
}

// The ids of the measurements that a threshold of this kind can select.
std::string hint_of_measured(const Threshold& threshold,
                             const std::vector<const CopySpec*>& specs) {
  const bool is_of_latency = threshold.of == Threshold::Of::latency_s;
  constexpr std::size_t most_named = 8;
  std::string ids;
  std::size_t found = 0;
  for (const CopySpec* spec : specs) {
    if (spec->is_latency != is_of_latency) continue;
    if (++found <= most_named) ids += (ids.empty() ? "" : ", ") + id_of(*spec);
  }
  if (found > most_named) ids += " and " + std::to_string(found - most_named) + " more";
  if (!ids.empty()) return "measured: " + ids;
  return is_of_latency ? "latencies are measured without --kind, or with --testcase "
                         "host_device_latency_sm or device_to_device_latency_sm"
                       : "no rate is measured";
}

}  // namespace

Retry parse_retry(std::string_view text) {
  const std::size_t slash = text.find('/');
  Retry retry;
  retry.needed = parse_count(text.substr(0, slash), text);
  retry.most = parse_count(slash == std::string_view::npos ? "" : text.substr(slash + 1), text);
  if (retry.needed > retry.most) {
    throw refuse_threshold("--retry: '" + std::string(text) + "' needs more than it measures",
                           "write it as 2/3: met when 2 of at most 3 measurements meet it");
  }
  return retry;
}

std::vector<const Threshold*> thresholds_for(const CopySpec& spec,
                                             const std::vector<Threshold>& thresholds) {
  std::vector<const Threshold*> found;
  for (const Threshold& threshold : thresholds) {
    if (is_for_copy(threshold, spec)) found.push_back(&threshold);
  }
  return found;
}

report::ThresholdResult judge(const Threshold& threshold, const CopyResult& result) {
  report::ThresholdResult judged;
  judged.threshold = threshold.text;
  judged.id = result.id;
  judged.measured = 1;
  if (threshold.of == Threshold::Of::latency_s) {
    judged.most_s = threshold.bound;
    judged.measured_s = result.median_s;
    judged.is_met = *result.median_s <= threshold.bound;
    judged.met = judged.is_met ? 1 : 0;
    return judged;
  }
  double least = threshold.bound;
  if (threshold.of == Threshold::Of::share) {
    if (!result.share_of_limit) {
      throw refuse_threshold("'" + threshold.text + "': " + result.id +
                                 " has no share of a limit: " + result.share_reason,
                             "give a rate, such as '" + threshold.selector + ">=20GB/s'");
    }
    least *= result.limit->bytes_per_s;
  }
  judged.least_bytes_per_s = least;
  judged.measured_bytes_per_s = result.bytes_per_s;
  judged.is_met = *result.bytes_per_s >= least;
  judged.met = judged.is_met ? 1 : 0;
  return judged;
}

void require_selected(const std::vector<Threshold>& thresholds,
                      const std::vector<const CopySpec*>& specs) {
  for (const Threshold& threshold : thresholds) {
    const bool is_named = std::ranges::any_of(
        specs, [&](const CopySpec* spec) { return is_for_copy(threshold, *spec); });
    if (is_named) continue;
    throw refuse_threshold("'" + threshold.text + "' selects none of the measurements",
                           hint_of_measured(threshold, specs));
  }
}

}  // namespace hiptool::measure
