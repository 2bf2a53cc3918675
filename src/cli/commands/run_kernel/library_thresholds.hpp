// SPDX-License-Identifier: MIT
/// Thresholds of matrix products, convolutions and poolings by libraries.
#pragma once
#include <string>
#include <vector>

#include "measure/library/measure.hpp"
#include "measure/threshold.hpp"
#include "results/run_kernel/library.hpp"

namespace hiptool::cli {

/// Whether a threshold's selector, "matmul.bf16.rocblas", names the result.
bool is_result_selected(const measure::LibraryResult& result, const std::string& selector);

/// Throws Error(invalid_argument) with the accepted form.
[[noreturn]] void refuse_library_threshold(const measure::Threshold& threshold,
                                           measure::ProblemKind kind, const std::string& why);

/// Adds a result for each threshold; one that cannot be judged is the outcome's error.
void judge_library_thresholds(const std::vector<measure::Threshold>& thresholds,
                              results::LibraryOutcome& outcome);

}  // namespace hiptool::cli
