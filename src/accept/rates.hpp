// SPDX-License-Identifier: MIT
/// Judges the rates of a stage: by expectations, by the limit of the link or memory, and by the
/// siblings of a device.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "accept/check.hpp"

namespace hiptool::accept {

/// A rate under this share of its limit fails even without expectations: copies reach 80 % and more
/// of a PCIe link and of the memory's bandwidth, so that half of it is a fault and not noise.
inline constexpr double least_share_of_limit = 0.5;

struct RateRules {
  const Expectations* expectations = nullptr;  ///< may be null
  double spread = 0.05;
  std::map<std::string, std::string> device_names;  ///< by id
  /// Measures one again, or returns nothing if it cannot; the devices are idle.
  std::function<std::optional<report::Measurement>(const StageMeasurement&)> again;
};

/// A fault and the device whose it is; empty: that of several.
struct RateFault {
  std::string device;
  Fault fault;
};

/// Judges all measured measurements of a stage. One that is too slow is measured again, and the
/// better measurement counts and replaces the other. The rules:
///  * an expectation of the expectations is met;
///  * a copy with one device and a kernel of group "stream", of 16 MiB and more, reach half of
///  their
///    limit;
///  * siblings, which are GPUs of one name: a device is slow if its median is more than `spread`
///    below the median of the others (base::find_slow()), if the fastest twentieth of its samples
///    does not reach that, and, among five or more, if its modified z score is below -3.5 (Iglewicz
///    and Hoaglin 1993). Devices of the cpu platform share their cores and are not compared.
///  * between two GPUs, both directions are compared by the same rule.
std::vector<RateFault> judge_rates(std::vector<StageMeasurement>& measurements,
                                   const RateRules& rules, ExpectationResults& results);

}  // namespace hiptool::accept
