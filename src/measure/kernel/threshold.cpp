// SPDX-License-Identifier: MIT
#include "measure/kernel/threshold.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "hiptool/error.hpp"
#include "hiptool/units.hpp"

namespace hiptool::measure {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "read threshold",
              "'" + text + "' is no threshold of a kernel",
              "write 'stream-triad.f32>=90%', 'sum>=3.5TB/s' or 'gemm.f32>=20TFLOP/s'");
}

[[noreturn]] void refuse_unmeasured(const KernelThreshold& threshold, const char* why) {
  throw Error(ErrorCode::invalid_argument, "judge threshold",
              "the threshold '" + threshold.text + "' " + why,
              "write the name as hiptool run-kernel --list has it, and a type of it after a dot");
}

double factor_of(char prefix, const std::string& text) {
  switch (prefix) {
    case 'M': return 1e6;
    case 'G': return 1e9;
    case 'T': return 1e12;
    default: refuse(text);
  }
}

std::string describe(const KernelThreshold& threshold, double value) {
  switch (threshold.of) {
    case KernelThreshold::Of::share: return format_share(value);
    case KernelThreshold::Of::bytes_per_s: return format_rate(value);
    case KernelThreshold::Of::flops_per_s: break;
  }
  return std::to_string(std::llround(value / 1e9)) + " GFLOP/s";
}

std::optional<double> measured(const KernelThreshold& threshold, const KernelResult& result) {
  if (result.status != KernelStatus::ok) return std::nullopt;
  switch (threshold.of) {
    case KernelThreshold::Of::share: return result.share_of_peak;
    case KernelThreshold::Of::bytes_per_s: return result.bytes_per_s;
    case KernelThreshold::Of::flops_per_s: break;
  }
  return result.flops_per_s;
}

}  // namespace

KernelThreshold parse_kernel_threshold(const std::string& text) {
  const std::size_t sign = text.find(">=");
  if (sign == std::string::npos || sign == 0) refuse(text);
  KernelThreshold threshold;
  threshold.text = text;
  threshold.kernel = text.substr(0, sign);
  const std::size_t dot = threshold.kernel.find('.');
  if (dot != std::string::npos) {
    threshold.dtype = threshold.kernel.substr(dot + 1);
    threshold.kernel.resize(dot);
    if (threshold.dtype.empty()) refuse(text);
  }
  if (threshold.kernel.empty()) refuse(text);
  const char* const begin = text.data() + sign + 2;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, threshold.least, std::chars_format::fixed);
  if (error != std::errc() || !(threshold.least >= 0 && std::isfinite(threshold.least)))
    refuse(text);
  const std::string unit(rest, end);
  if (unit == "%") {
    threshold.least /= 100;
    return threshold;
  }
  if (unit.size() < 4) refuse(text);
  threshold.least *= factor_of(unit[0], text);
  if (unit.substr(1) == "B/s") {
    threshold.of = KernelThreshold::Of::bytes_per_s;
  } else if (unit.substr(1) == "FLOP/s") {
    threshold.of = KernelThreshold::Of::flops_per_s;
  } else {
    refuse(text);
  }
  return threshold;
}

void require_named(const KernelThreshold& threshold, const std::vector<KernelFamily>& families) {
  const auto is_named = [&](const KernelFamily& family) {
    if (family.name != threshold.kernel) return false;
    if (threshold.dtype.empty()) return !family.dtypes.empty();
    return std::find(family.dtypes.begin(), family.dtypes.end(), threshold.dtype) !=
           family.dtypes.end();
  };
  if (std::any_of(families.begin(), families.end(), is_named)) return;
  refuse_unmeasured(threshold, "names no kernel that will run");
}

std::string judge_threshold(const KernelThreshold& threshold,
                            std::span<const KernelResult> results) {
  bool is_measured = false;
  std::string below;
  for (const KernelResult& result : results) {
    if (result.kernel != threshold.kernel) continue;
    if (!threshold.dtype.empty() && result.dtype != threshold.dtype) continue;
    is_measured = is_measured || !result.samples_s.empty();
    const std::optional<double> value = measured(threshold, result);
    if (value && *value >= threshold.least) continue;
    if (!below.empty()) below += "; ";
    below += result.kernel + "." + result.dtype + " on " + result.device + ": ";
    below += value ? describe(threshold, *value) + ", below " + describe(threshold, threshold.least)
                   : std::string("not known, so not ") + describe(threshold, threshold.least);
  }
  if (!is_measured) refuse_unmeasured(threshold, "names no kernel that was measured");
  return below;
}

}  // namespace hiptool::measure
