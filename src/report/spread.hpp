// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "report/measurement.hpp"

namespace hiptool::report {

/// Rates of two runs of one good machine differ by less, except for short calls: the margin of
/// expectations, and what is compared between hosts.
inline constexpr double steady_spread = 0.05;

/// Calls of a library and kernels that take less than 100 us are mostly launches and run while the
/// clocks of the GPU rise: on good H100 and H200 their rates differ by 15 to 40 % from run to run.
bool is_short(const Measurement& measured);

/// How far the rate of the measurement may be below another run of the same good machine;
/// 0.05: 5 %. It is `usual`, or of a short call at least a half. This is the one rule for short
/// calls, by which `check` judges them against expectations and siblings, `report compare` against
/// an earlier run, and `report merge` against other hosts.
double run_spread(const Measurement& measured, double usual = steady_spread);

/// "48.1 to 55.0 GB/s": from the slowest to the fastest sample, as rates where the measurement has
/// one, else as times from the fastest; empty for fewer than two samples.
std::string range_text(const Measurement& measured);

/// One line about samples that vary by more than 5 % (coefficient of variation), with the worst
/// measurement, its range and what to do; empty where all are steadier.
std::string variation_text(const std::vector<Measurement>& measurements);

/// One line if rates of the cpu platform are among them; else empty.
std::string cpu_rates_text(const std::vector<Measurement>& measurements);

}  // namespace hiptool::report
