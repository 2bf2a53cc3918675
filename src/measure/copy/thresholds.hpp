// SPDX-License-Identifier: MIT
/// Thresholds of copies, and how often they may be missed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "measure/copy/bench.hpp"
#include "measure/threshold.hpp"

namespace hiptool::measure {

/// "2/3": met when 2 of at most 3 measurements meet it.
struct Retry {
  std::size_t needed = 1;
  std::size_t most = 1;
};
Retry parse_retry(std::string_view text);

/// The thresholds that a measurement has to meet: those in seconds for latencies, else the others.
std::vector<const Threshold*> thresholds_for(const CopySpec& spec,
                                             const std::vector<Threshold>& thresholds);

/// Compares a measurement with a threshold. Throws Error(invalid_argument) for a share of an
/// unknown limit.
report::ThresholdResult judge(const Threshold& threshold, const CopyResult& result);

/// Throws Error(invalid_argument), with the measured ids, for a threshold that selects none of
/// these measurements.
void require_selected(const std::vector<Threshold>& thresholds,
                      const std::vector<const CopySpec*>& specs);

}  // namespace hiptool::measure
