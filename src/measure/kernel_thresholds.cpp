// SPDX-License-Identifier: MIT
#include "measure/kernel_thresholds.hpp"

#include <algorithm>
#include <utility>

#include "base/contains.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "measure/ops/sweep.hpp"
#include "report/report.hpp"

namespace hiptool::measure {
namespace {

[[noreturn]] void refuse_unmeasured(const Threshold& threshold, const char* why) {
  throw Error(
      ErrorCode::invalid_argument, "judge threshold",
      "the threshold '" + threshold.text + "' " + why,
      "write NAME[.TYPE][.SIZE][.DEVICE] of this run; `hiptool run-kernel --list` has the names");
}

std::string describe(const Threshold& threshold, double value) {
  switch (threshold.of) {
    case Threshold::Of::share: return format_share(value);
    case Threshold::Of::bytes_per_s: return format_rate(value);
    case Threshold::Of::flops_per_s:
    case Threshold::Of::latency_s: break;  // of copies only
  }
  return report::format_value(value, report::Unit::operations);
}

struct Selector {
  explicit Selector(const std::string& text) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t dot = std::min(text.find('.', start), text.size());
      (start == 0 ? kernel : words.emplace_back()) = text.substr(start, dot - start);
      start = dot + 1;
    }
  }

  std::string kernel;
  std::vector<std::string> words;
};

bool names(const Selector& selector, const KernelFamily& family) {
  return selector.kernel == family.name || selector.kernel == family.group;
}

/// The size that ran, or a requested size that was rounded to it.
bool has_size(const KernelResult& result, const std::string& word) {
  const auto& asked = result.requested_sizes_bytes;
  return means_size(word, result.size_word) || std::ranges::any_of(asked, [&](auto size) {
           return means_size(word, report::size_word(size));
         });
}

bool is_selected(const KernelResult& result, const Selector& selector,
                 const std::vector<KernelFamily>& families) {
  const auto is_named = [&](const KernelFamily& family) {
    return family.name == result.kernel && names(selector, family);
  };
  if (std::ranges::none_of(families, is_named)) return false;
  return std::ranges::all_of(selector.words, [&](const auto& word) {
    return word == result.dtype || word == result.destination || word == result.layout ||
           has_size(result, word);
  });
}

/// Whether the options contain the size, shape or layout that this word means; without sizes any
/// may run.
bool is_asked_size(const std::string& word, const KernelBenchOptions& options) {
  if (base::contains(options.layouts, word)) return true;
  if (!options.shape.empty()) return word == shape_text(options.shape);
  if (!is_size(word)) return false;
  const bool is_share = word.back() == '%';
  if (options.memory_share || is_share) return options.memory_share && is_share;
  return options.sizes_bytes.empty() || std::ranges::any_of(options.sizes_bytes, [&](auto size) {
           return means_size(word, report::size_word(size));
         });
}

/// Throws if the threshold is a share and the result has none.
void require_share(const Threshold& threshold, const KernelResult& result) {
  if (threshold.of != Threshold::Of::share || result.status != Status::ok ||
      result.share_of_limit) {
    return;
  }
  const std::string why = result.share_reason.empty() ? "it was not measured" : result.share_reason;
  throw Error(ErrorCode::invalid_argument, "judge threshold",
              "the threshold '" + threshold.text + "': " + label_of(result) + " on " +
                  result.destination + " has no share of a peak: " + why,
              "give a rate, such as '" + threshold.selector +
                  ">=1TB/s', or larger arrays by --size "
                  "where a cache is the reason");
}

std::optional<double> measured(const Threshold& threshold, const KernelResult& result) {
  if (result.status != Status::ok) return std::nullopt;
  switch (threshold.of) {
    case Threshold::Of::share: return result.share_of_limit;
    case Threshold::Of::bytes_per_s: return result.bytes_per_s;
    case Threshold::Of::flops_per_s:
    case Threshold::Of::latency_s: break;  // of copies only
  }
  return result.flops_per_s;
}

}  // namespace

void require_named(const std::vector<Threshold>& thresholds, const KernelBenchOptions& options) {
  const std::vector<KernelFamily> families = chosen_kernels(options);
  for (const Threshold& threshold : thresholds) {
    const Selector selector(threshold.selector);
    const auto will_run = [&](const KernelFamily& family) {
      if (!names(selector, family) || family.dtypes.empty()) return false;
      return std::ranges::all_of(selector.words, [&](const auto& word) {
        return base::contains(family.dtypes, word) || is_asked_size(word, options) ||
               word.find(':') != std::string::npos;
      });
    };
    if (std::ranges::any_of(families, will_run)) continue;
    refuse_unmeasured(threshold, "names no kernel that will run");
  }
}

report::ThresholdResult judge_threshold(const Threshold& threshold,
                                        std::span<const KernelResult> results) {
  const Selector selector(threshold.selector);
  const std::vector<KernelFamily> families = list_kernels();
  bool is_measured = false;
  report::ThresholdResult judged;
  judged.threshold = threshold.text;
  for (const KernelResult& result : results) {
    if (!is_for(threshold, result.destination)) continue;
    if (!is_selected(result, selector, families)) continue;
    is_measured = is_measured || !result.samples_s.empty();
    require_share(threshold, result);
    const std::optional<double> value = measured(threshold, result);
    if (value && *value >= threshold.bound) continue;
    judged.failures.push_back(report::missed_by(threshold.text, result.id, threshold.bound, value));
    judged.missed.push_back(
        label_of(result) + " on " + result.destination + ": " +
        (value ? describe(threshold, *value) + ", below " : "not known, so not ") +
        describe(threshold, threshold.bound));
  }
  if (!is_measured) refuse_unmeasured(threshold, "names no kernel that was measured");
  judged.is_met = judged.missed.empty();
  return judged;
}

}  // namespace hiptool::measure
