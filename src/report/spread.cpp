// SPDX-License-Identifier: MIT
#include "report/spread.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

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

std::string range_text(const Measurement& measured) {
  const std::vector<double>& samples = measured.samples_s;
  if (samples.size() < 2) return {};
  const auto [fastest, slowest] = std::minmax_element(samples.begin(), samples.end());
  if (*fastest <= 0 || !measured.median_s) return {};
  const auto text = [&](double sample_s) {
    const double factor = *measured.median_s / sample_s;
    if (measured.bytes_per_s) return format_rate(*measured.bytes_per_s * factor);
    if (measured.flops_per_s) {
      return format_value(*measured.flops_per_s * factor, Unit::operations);
    }
    return format_duration(sample_s);
  };
  const bool is_rate = measured.bytes_per_s || measured.flops_per_s;
  return base::range_of(text(is_rate ? *slowest : *fastest), text(is_rate ? *fastest : *slowest));
}

std::string cpu_rates_text(const std::vector<Measurement>& measurements) {
  const bool has_cpu =
      std::any_of(measurements.begin(), measurements.end(), [](const Measurement& measured) {
        return platform_of(measured.destination) == "cpu" && measured.median_s;
      });
  return has_cpu ? "cpu: rates of reference kernels on the CPU, which are not tuned" : "";
}

std::string variation_text(const std::vector<Measurement>& measurements) {
  const Measurement* worst = nullptr;
  double most = steady_spread;
  std::size_t judged = 0;
  std::size_t unsteady = 0;
  for (const Measurement& measured : measurements) {
    if (measured.status != Status::ok || measured.samples_s.size() < 2) continue;
    ++judged;
    const double variation = base::summarize(measured.samples_s).variation;
    if (variation <= steady_spread) continue;
    ++unsteady;
    if (worst != nullptr && variation <= most) continue;
    worst = &measured;
    most = variation;
  }
  if (worst == nullptr) return {};
  return fmt::format(
      "samples vary by more than {} (CV) in {} of {}, most in {}: CV {}, {}; compare only medians, "
      "and measure on an idle machine",
      format_share(steady_spread), unsteady, base::count_of(judged, "measurement"), worst->id,
      format_share(most), range_text(*worst));
}

}  // namespace hiptool::report
