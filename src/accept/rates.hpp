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

/// How often a rate that is too low is measured again before it refuses a device.
inline constexpr int most_repeats = 3;

/// Fewer GPUs of a name are not compared: of two, nobody knows which one is right.
inline constexpr std::size_t least_siblings = 3;

struct RateRules {
  const Expectations* expectations = nullptr;  ///< may be null
  double spread = 0.1;                         ///< of siblings
  std::map<std::string, DeviceInfo> devices;   ///< that are checked, by id
  /// Measures one again; the devices are idle. Nothing if it was not measured; what failed is a
  /// measurement with that status.
  std::function<std::optional<report::Measurement>(const StageMeasurement&)> again;
};

/// A fault and its device; empty: a fault of several.
struct RateFault {
  std::string device;
  Fault fault;
};

/// Judges all measured measurements of a stage. One that is too slow is measured again up to three
/// times, alone on the machine; the best measurement counts and is kept. Wrong data and failed
/// calls then are faults as they are the first time. The rules:
///  * an expectation of the expectations is met. Of a short call or kernel the fastest twentieth of
///    its samples must meet it, because the clocks of an idle GPU rise while such calls run;
///  * what is published of the model (measure::published_rate()) is reached: of the memory by
///    the kernel stream-triad and, on NVIDIA, copies within the device, of PCI Express by copies of
///    one device from and to the host, of links by copies between two GPUs, of products of f16 and
///    bf16, with 4096 and more in each dimension, by products of libraries. A slot, or links
///    between two GPUs, that allow less lower the limit; where the path is unknown, links have
///    none;
///  * a copy with one device and a kernel of group "stream", of 16 MiB and more, reach half of
///    their limit;
///  * the PCIe link carries, while a device copies, half of what its slot allows;
///  * siblings, which are three and more GPUs of one name: a device is slow if its median is more
///    than `spread` (of short calls report::run_spread()) below the median of the others, if the
///    fastest twentieth of its samples does not reach that, and, among four or more, if no other is
///    slower. Those that are slow are left out before the next one is compared. Before one is
///    refused, the others are measured a second time, alone as well, and the means of their rates
///    count. Devices of the cpu platform share their cores and are not compared. Between two of
///    three and more GPUs, both directions are compared.
std::vector<RateFault> judge_rates(std::vector<StageMeasurement>& measurements,
                                   const RateRules& rules, ExpectationResults& results);

/// Names of the GPUs that have no published rates, each once.
std::vector<std::string> models_without_limits(const RateRules& rules);

}  // namespace hiptool::accept
