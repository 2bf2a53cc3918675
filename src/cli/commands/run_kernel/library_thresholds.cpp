// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/library_thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "report/verdict.hpp"

namespace hiptool::cli {
namespace {

using measure::LibraryResult;
using measure::ProblemKind;
using measure::Threshold;
using report::Status;

/// "nn", which the id does not have; empty for convolutions.
std::string plain_transposes(const measure::Problem& problem) {
  const measure::MatmulProblem* const product = matmul_of(problem);
  return product == nullptr ? std::string() : transpose_word(*product);
}

report::ThresholdResult judge_library_threshold(const Threshold& threshold, ProblemKind kind,
                                                const std::vector<LibraryResult>& results) {
  report::ThresholdResult judged;
  judged.threshold = threshold.text;
  bool is_measured = false;
  const bool is_share = threshold.of == Threshold::Of::share;
  const auto text = [&](double value) {
    return is_share ? format_share(value) : report::format_value(value, report::Unit::operations);
  };
  for (const LibraryResult& result : results) {
    if (!is_for(threshold, result.destination)) continue;
    if (!is_result_selected(result, threshold.selector)) continue;
    is_measured = is_measured || !result.samples_s.empty();
    // Without a published peak the fastest of the run is what there is to compare with.
    const std::optional<double> share =
        result.share_of_limit ? result.share_of_limit : result.share_of_fastest;
    if (is_share && result.status == Status::ok && !share) {
      refuse_library_threshold(threshold, kind,
                               "is a share, but " + result.id +
                                   " has none: " + result.share_reason +
                                   ", and no other was measured; give TFLOP/s");
    }
    const std::optional<double> value = is_share ? share : result.flops_per_s;
    if (result.status == Status::ok && value && *value >= threshold.bound) continue;
    judged.failures.push_back(report::missed_by(threshold.text, result.id, threshold.bound, value));
    judged.missed.push_back(result.id + ": " +
                            (value ? text(*value) + ", below " : "not known, so not ") +
                            text(threshold.bound));
  }
  if (!is_measured) {
    refuse_library_threshold(threshold, kind,
                             fmt::format("names no {} that was measured", noun_of(kind)));
  }
  judged.is_met = judged.missed.empty();
  return judged;
}

}  // namespace

bool is_result_selected(const LibraryResult& result, const std::string& selector) {
  const std::vector<std::string> unusual = measure::unusual_words(result.problem);
  bool is_first = true;
  for (std::size_t start = 0; start <= selector.size(); is_first = false) {
    const std::size_t dot = std::min(selector.find('.', start), selector.size());
    const std::string word = selector.substr(start, dot - start);
    start = dot + 1;
    if (is_first && word == result.kernel) continue;
    const bool is_known =
        !is_first && (word == result.dtype || word == result.shape || word == result.library ||
                      word == result.destination || word == plain_transposes(result.problem) ||
                      std::find(unusual.begin(), unusual.end(), word) != unusual.end());
    if (!is_known) return false;
  }
  return true;
}

void refuse_library_threshold(const Threshold& threshold, ProblemKind kind,
                              const std::string& why) {
  const std::string example =
      kind == ProblemKind::matmul   ? "matmul.bf16.4096x4096x4096.rocblas>=70%"
      : kind == ProblemKind::conv2d ? "conv2d.f16.n8c64h56w56:k64r3s3.miopen>=70%"
                                    : fmt::format("{}.f16.miopen>=70%", to_string(kind));
  throw usage_error("the threshold '" + threshold.text + "' " + why,
                    fmt::format("write {}[.TYPE][.SHAPE][.LIBRARY][.DEVICE], such as '{}'",
                                to_string(kind), example));
}

void judge_library_thresholds(const std::vector<Threshold>& thresholds,
                              results::LibraryOutcome& outcome) {
  for (const Threshold& threshold : thresholds) {
    try {
      outcome.thresholds.push_back(
          judge_library_threshold(threshold, outcome.kind, outcome.results));
    } catch (const Error& error) {
      if (!outcome.error) outcome.error = error;  // reported with the results
    }
  }
}

}  // namespace hiptool::cli
