// SPDX-License-Identifier: MIT
/// Documents of version 1, which hiptool wrote until 0.2.0: `cells` or `results` in place of
/// `measurements`, with other keys for each command. Nothing writes them any more.
#pragma once
#include <string>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

/// Whether a run passed whose document does not hold its verdict.
bool passed_v1(const Object& document);

std::vector<Measurement> measurements_v1(const Object& document, const std::string& command);
std::vector<ThresholdResult> thresholds_v1(const Object& document);
std::vector<Comparison> comparisons_v1(const Object& document, const std::string& command);
std::vector<Failure> failures_v1(const Object& document);

}  // namespace hiptool::report
