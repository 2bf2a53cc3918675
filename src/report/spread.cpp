// SPDX-License-Identifier: MIT
#include "report/spread.hpp"

#include <algorithm>

namespace hiptool::report {

bool is_short(const Measurement& measured) {
  constexpr double least_steady_s = 100e-6;
  const bool is_kernel = measured.kind == "kernel" || measured.kind == "operation";
  const bool is_call = is_kernel || !measured.library.empty();
  return is_call && measured.median_s && *measured.median_s < least_steady_s;
}

double run_spread(const Measurement& measured, double usual) {
  constexpr double short_spread = 0.5;
  return is_short(measured) ? std::max(usual, short_spread) : usual;
}

}  // namespace hiptool::report
