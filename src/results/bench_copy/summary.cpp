// SPDX-License-Identifier: MIT
#include "base/contains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/bench_copy/outcome.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {

using measure::CopyResult;
using report::Line;
using report::Status;
using report::Tone;

namespace {

constexpr std::size_t kinds_in_summary = 4;
constexpr std::size_t devices_in_summary = 4;
constexpr std::size_t reasons_in_summary = 2;

const char* limit_word(std::string_view source) {
  if (source == "pcie-link") return "the link";
  if (source == "xgmi-link") return "the XGMI links";
  // Copies within a device read and write each byte, so limit_of() halves the peak.
  if (source == "memory-clock" || source == "sku-table") return "half the peak bandwidth";
  return "the limit";
}

// " (83 % of the link)"; empty without a share.
std::string share_text(const CopyResult& result) {
  if (!result.share_of_limit) return {};
  return fmt::format(" ({} of {})", format_share(*result.share_of_limit),
                     limit_word(result.limit_source));
}

// "h2d 52.4 GB/s (83 % of the link)"
std::string rate_text(const CopyResult& result) {
  return short_name(result) + " " + format_rate(*result.bytes_per_s) + share_text(result);
}

const char* word_of(Platform platform) { return platform == Platform::cpu ? "CPU" : "GPU"; }

// "nvidia:0-1", "8 devices", "nvidia:0 (1 of 8 GPUs)".
std::string devices_text(const BenchCopyOutcome& outcome) {
  if (outcome.devices.size() > devices_in_summary) {
    return fmt::format("{} devices", outcome.devices.size());
  }
  std::vector<std::string> ids;
  for (const measure::WatchedDevice& watched : outcome.devices) ids.push_back(watched.device.id());
  const std::string text = base::ranges_of(std::move(ids));
  if (outcome.left_out.empty() || outcome.devices.empty()) return text;
  const std::size_t measured = outcome.devices.size();
  return fmt::format("{} ({} of {} {}s)", text, measured, measured + outcome.left_out.size(),
                     word_of(outcome.devices.front().device.platform()));
}

// How to measure devices that were left out; empty if there are none.
std::string left_out_text(const BenchCopyOutcome& outcome) {
  if (outcome.left_out.empty() || outcome.devices.empty()) return {};
  const Platform platform = outcome.devices.front().device.platform();
  const std::string all = platform == Platform::cpu
                              ? fmt::format("{},{}", outcome.devices.front().device.id(),
                                            fmt::join(outcome.left_out, ","))
                              : std::string("all");
  return fmt::format(
      "not measured: {}; measure each with --device {}, copies between them with "
      "--kind p2p-write",
      base::ranges_of(outcome.left_out), all);
}

// Between pairs of devices: "p2p-write 350 to 398 GB/s between 56 pairs, median 396 GB/s, slowest
// nvidia:3>nvidia:5". Of several sizes the largest counts.
std::string pairs_text(std::vector<const CopyResult*> results) {
  std::uint64_t largest = 0;
  for (const CopyResult* one : results) largest = std::max(largest, one->spec.size_bytes);
  const bool has_sizes = std::erase_if(results, [largest](const CopyResult* one) {
                           return one->spec.size_bytes != largest;
                         }) > 0;
  std::sort(results.begin(), results.end(), [](const CopyResult* left, const CopyResult* right) {
    return left->bytes_per_s < right->bytes_per_s;
  });
  const CopyResult& slowest = *results.front();
  std::vector<double> rates;
  for (const CopyResult* one : results) rates.push_back(*one->bytes_per_s);
  const std::string least = format_rate(rates.front());
  const std::string most = format_rate(rates.back());
  std::string text = fmt::format("{} {} between {}{}", short_name(slowest),
                                 base::range_of(least, most), base::count_of(rates.size(), "pair"),
                                 has_sizes ? " at " + format_size(largest) : "");
  if (least == most) return text;
  return text + fmt::format(", median {}, slowest {}", format_rate(base::median(rates)),
                            place_of(slowest));
}

// The rates of one kind: "h2d 1.20 to 52.4 GB/s in 7 measurements, most at 256 MiB (83 % of ...)".
std::string range_text(const std::vector<const CopyResult*>& results) {
  if (results.size() == 1) return rate_text(*results.front());
  if (std::all_of(results.begin(), results.end(),
                  [](const CopyResult* one) { return one->is_pair(); })) {
    return pairs_text(results);
  }
  const auto [least, most] = std::minmax_element(
      results.begin(), results.end(), [](const CopyResult* left, const CopyResult* right) {
        return left->bytes_per_s < right->bytes_per_s;
      });
  const CopyResult& best = **most;
  const std::string low = format_rate(*(*least)->bytes_per_s);
  const std::string high = format_rate(*best.bytes_per_s);
  std::string text = fmt::format("{} {} in {} measurements", short_name(best),
                                 base::range_of(low, high), results.size());
  const bool has_sizes = std::any_of(results.begin(), results.end(), [&](const CopyResult* one) {
    return one->spec.size_bytes != best.spec.size_bytes;
  });
  if (has_sizes && low != high) text += ", most at " + format_size(best.spec.size_bytes);
  text += share_text(best);
  if (low == high) return text;
  const bool has_places = std::any_of(results.begin(), results.end(), [&](const CopyResult* one) {
    return place_of(*one) != place_of(best);
  });
  return has_sizes || !has_places ? text : text + ", slowest " + place_of(**least);
}

// The rates of each kind of copy; of several of a kind, their range.
std::string rates_text(const BenchCopyOutcome& outcome) {
  std::vector<std::vector<const CopyResult*>> kinds;
  for (const CopyResult& result : outcome.results) {
    if (!result.has_rate()) continue;
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return short_name(*kind.front()) == short_name(result);
    });
    if (found == kinds.end()) {
      kinds.push_back({&result});
    } else {
      found->push_back(&result);
    }
  }
  if (kinds.empty()) return {};
  std::vector<std::string> texts;
  for (const auto& kind : kinds) texts.push_back(range_text(kind));
  // The texts of pairs have commas of their own.
  const bool has_commas = std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.find(',') != std::string::npos;
  });
  return (outcome.measured() == 1 ? ", median: " : ", medians: ") +
         base::first_of(texts, kinds_in_summary, has_commas ? "; " : ", ") +
         (texts.size() > kinds_in_summary ? " kinds" : "");
}

std::string measured_text(const BenchCopyOutcome& outcome) {
  return fmt::format("{} on {} in {}", base::count_of(outcome.measured(), "measurement"),
                     devices_text(outcome), format_duration(outcome.wall_time_s));
}

bool is_measured_twice(const report::Comparison& one) {
  return one.before.samples > 0 && one.after.samples > 0;
}

std::string slower_text(const report::RunComparison& compared) {
  std::size_t slower = 0;
  const report::Comparison* worst = nullptr;
  for (const report::Comparison& one : compared.comparisons) {
    if (one.times.verdict != base::Verdict::slower) continue;
    ++slower;
    if (worst == nullptr || one.times.change > worst->times.change) worst = &one;
  }
  if (worst == nullptr) return {};
  const auto all = std::ranges::count_if(compared.comparisons, is_measured_twice);
  return fmt::format("{} of {} slower than the baseline: {}{} takes {} longer", slower,
                     base::count_of(static_cast<std::size_t>(all), "measurement"),
                     slower > 1 ? "most of all " : "", worst->id,
                     format_share(worst->times.change));
}

// "2 of 6 measurements ambiguous"; empty where none fails by that.
std::string ambiguous_text(const report::RunComparison& compared) {
  const auto ambiguous = std::ranges::count_if(
      compared.comparisons,
      [&compared](const report::Comparison& one) { return compared.fails_as_ambiguous(one); });
  if (ambiguous == 0) return {};
  const auto judged = std::ranges::count_if(
      compared.comparisons,
      [&compared](const report::Comparison& one) { return compared.is_judged(one); });
  return fmt::format("{} of {} ambiguous", ambiguous,
                     base::count_of(static_cast<std::size_t>(judged), "measurement"));
}

// "the baseline lacks 4 of 6 measurements"; empty where both runs have the same.
std::string missing_text(const report::RunComparison& compared) {
  const auto common = static_cast<std::size_t>(
      std::ranges::count_if(compared.comparisons, [&compared](const report::Comparison& one) {
        return !compared.is_missing(one.id) && is_measured_twice(one);
      }));
  const std::size_t in_old = compared.missing_in_old.size();
  const std::size_t in_new = compared.missing_in_new.size();
  std::string text;
  if (in_old > 0) {
    text = fmt::format("the baseline lacks {} of {}", in_old,
                       base::count_of(in_old + common, "measurement"));
  }
  if (in_new > 0) {
    text += fmt::format("{}{} of its {} not measured now",
                        text.empty() ? "the baseline has " : " and has ", in_new,
                        base::count_of(in_new + common, "measurement"));
  }
  return text;
}

// The reasons for exit code 1.
std::string failures_text(const BenchCopyOutcome& outcome) {
  std::vector<std::string> parts{report::missed_text(outcome.thresholds)};
  if (outcome.baseline && outcome.baseline->compared.comparisons.empty()) {
    parts.push_back(fmt::format("{} has none of the {}", outcome.baseline->path,
                                base::count_of(outcome.measured(), "measurement")));
  } else if (outcome.baseline) {
    const report::RunComparison& compared = outcome.baseline->compared;
    parts.push_back(slower_text(compared));
    parts.push_back(ambiguous_text(compared));
    if (compared.is_strict_baseline) parts.push_back(missing_text(compared));
  }
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

// Rates or times as numbers, for programs.
void set_values_of_slower(const report::RunComparison& compared, report::Failure& failure) {
  const auto found =
      std::ranges::find(compared.comparisons, failure.subject.measurement, &report::Comparison::id);
  if (found == compared.comparisons.end()) return;
  if (found->times.verdict != base::Verdict::slower) return;
  const bool has_rates = found->before.bytes_per_s && found->after.bytes_per_s;
  failure.expected = has_rates ? found->before.bytes_per_s : found->before.median_s;
  failure.got = has_rates ? found->after.bytes_per_s : found->after.median_s;
}

}  // namespace

std::string short_name(const CopyResult& result) {
  const measure::CopySpec& spec = result.spec;
  std::string name(to_string(spec.kind));
  if (spec.memory && *spec.memory != measure::HostKind::pinned) {
    name += fmt::format(" {}", to_string(*spec.memory));
  }
  if (spec.is_chase) return name + " pointer chase";
  if (spec.engine == measure::CopyEngine::kernel) name += " by kernel";
  if (spec.sums_copies) name += ", sum of both";
  if (spec.is_split()) {
    return name + (spec.beside == measure::Beside::other_way ? " both ways" : " all both ways");
  }
  switch (spec.beside) {
    case measure::Beside::nothing: return name;
    case measure::Beside::other_way:
      return name + (spec.kind == measure::CopyKind::h2d ? " during d2h" : " during h2d");
    case measure::Beside::others: return name + " during others";
    case measure::Beside::others_both_ways: return name + " during all both ways";
  }
  return name;
}

std::vector<Line> summary_lines(const BenchCopyOutcome& outcome) {
  std::vector<Line> lines;
  const std::size_t wrong = outcome.count(Status::mismatch);
  const std::size_t failed = outcome.count(Status::failed);
  const std::string measured = measured_text(outcome);
  const std::string rates = rates_text(outcome);
  const std::string failures = failures_text(outcome);
  const auto subject = [&outcome](Status status) {
    const std::string places = devices_with(outcome.results, status);
    return places.empty() ? places : " on " + places;
  };
  if (wrong > 0) {
    lines.push_back(report::failure_line(
        fmt::format("WRONG DATA{} in {} of {}", subject(Status::mismatch), wrong, measured)));
  } else if (outcome.is_interrupted()) {
    lines.push_back(report::failure_line("interrupted after " + measured + rates));
  } else if (failed > 0) {
    std::vector<std::string> reasons;
    for (const CopyResult& result : outcome.results) {
      if (result.error) base::add_once(reasons, std::string(result.error->what()));
    }
    lines.push_back(
        report::failure_line(fmt::format("FAILED{}: {} of {}: {}", subject(Status::failed), failed,
                                         base::count_of(outcome.results.size(), "measurement"),
                                         base::first_of(reasons, reasons_in_summary, "; "))));
    lines.push_back({Tone::plain, measured + rates});
  } else if (outcome.error) {
    lines.push_back(report::failure_line(std::string("FAILED: ") + outcome.error->what()));
    if (outcome.measured() > 0) lines.push_back({Tone::plain, measured + rates});
  } else if (!failures.empty()) {
    lines.push_back(report::failure_line("FAILED: " + failures));
    lines.push_back({Tone::plain, measured + rates});
  } else {
    lines.push_back({Tone::good, measured + rates});
  }
  const std::string left_out = left_out_text(outcome);
  if (!left_out.empty()) lines.push_back({Tone::plain, left_out});
  return lines;
}

std::size_t BenchCopyOutcome::measured() const {
  return count(Status::ok) + count(Status::mismatch);
}

bool BenchCopyOutcome::is_interrupted() const {
  return error && error->code() == ErrorCode::cancelled;
}

std::vector<report::Failure> failures_of(const BenchCopyOutcome& outcome) {
  std::vector<report::Failure> failures;
  add_failures_of_wrong(outcome.results, failures);
  for (report::Failure& one : failures_of(outcome.thresholds)) failures.push_back(std::move(one));
  if (!outcome.baseline) return failures;
  const Baseline& baseline = *outcome.baseline;
  for (report::Failure failure : baseline.compared.failures()) {
    if (failure.kind == report::FailureKind::no_common) {
      failure.what = "baseline " + baseline.path;
      failure.expected = "a measurement that both runs have";
      failure.got = "none";
      failure.subject.file = baseline.path;
    } else {
      failure.what += " against the baseline";
      set_values_of_slower(baseline.compared, failure);
    }
    failures.push_back(std::move(failure));
  }
  return failures;
}

std::optional<Error> nothing_measured(const BenchCopyOutcome& outcome) {
  const std::size_t skipped = outcome.count(Status::skipped);
  if (skipped < outcome.results.size()) return std::nullopt;
  return Error(
      ErrorCode::unavailable, "bench-copy",
      fmt::format("nothing was measured: {} skipped: {}", base::count_of(skipped, "measurement"),
                  fmt::join(report::distinct_reasons(outcome.results), "; ")),
      "choose other copies with --kind, --memory and --engine, or other devices");
}

}  // namespace hiptool::results
