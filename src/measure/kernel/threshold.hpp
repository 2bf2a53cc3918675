// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <string>

#include "measure/kernel/bench.hpp"

namespace hiptool::measure {

/// What `--fail-below` asks of a kernel.
struct KernelThreshold {
  std::string text;    ///< as it was written
  std::string kernel;  ///< "stream-triad"
  std::string dtype;   ///< empty: every one
  double least = 0;
  enum class Of { share, bytes_per_s, flops_per_s } of = Of::share;
};

/// Reads "stream-triad.f32>=90%", "sum>=3.5TB/s" or "gemm.f32>=20TFLOP/s" (also M and G, decimal).
/// Throws Error(invalid_argument) with these forms for anything else.
KernelThreshold parse_kernel_threshold(const std::string& text);

/// Throws Error(invalid_argument) where the threshold names none of these, with a type of theirs.
void require_named(const KernelThreshold& threshold, const std::vector<KernelFamily>& families);

/// What the results are below, in words; empty: nothing. A result that was skipped, or whose share
/// is not known, cannot be judged and is named as well. Throws Error(invalid_argument) where the
/// threshold names no result that was measured.
std::string judge_threshold(const KernelThreshold& threshold,
                            std::span<const KernelResult> results);

}  // namespace hiptool::measure
