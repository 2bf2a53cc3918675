// SPDX-License-Identifier: MIT

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/document.hpp"
#include "report/fields.hpp"
#include "report/matrix.hpp"
#include "report/remarks.hpp"
#include "report/spread.hpp"
#include "results/bench_copy/outcome.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using measure::CopyResult;
using report::Line;
using report::Status;
using report::Tone;
using report::Unit;
using report::Value;
using Results = std::vector<std::reference_wrapper<const CopyResult>>;

constexpr std::size_t ids_in_line = 4;
constexpr std::size_t sparkline_columns = 12;
// The bars span at least this share of the highest rate, so that noise of 1 % looks flat.
constexpr double shown_range = 0.1;

void add_wrong_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  for (const CopyResult& result : outcome.results) {
    if (!result.wrong) continue;
    const report::WrongData& wrong = *result.wrong;
    lines.push_back({Tone::bad, fmt::format("{}: {} wrong, the first at index {}, bits {:#010x}",
                                            result.id, base::count_of(wrong.count, "word"),
                                            *wrong.first_index, wrong.xor_bits)});
  }
}

void add_threshold_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  for (const report::ThresholdResult& one : outcome.thresholds) {
    std::string text = fmt::format("{}: {} {} with {}", one.is_met ? "met" : "MISSED", one.id,
                                   one.threshold, one.measured_text());
    if (one.measured > 1) {
      text += fmt::format(" ({} of {} measurements met it)", one.met, one.measured);
    }
    lines.push_back({one.is_met ? Tone::good : Tone::bad, std::move(text)});
  }
}

void add_comparison_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  if (!outcome.baseline) return;
  for (const Line& line : outcome.baseline->warnings) lines.push_back(line);
  std::string decidable = report::decidable_text(outcome.baseline->compared.comparisons);
  if (!decidable.empty()) lines.push_back({Tone::plain, std::move(decidable)});
  for (const report::Comparison& one : outcome.baseline->compared.comparisons) {
    const auto& [verdict, change, interval] = one.times;
    std::string text = fmt::format("{}: {}", one.id, report::to_string(verdict));
    if (std::isfinite(change)) {
      text += fmt::format(", takes {:+.1f} % ({:+.1f} to {:+.1f})", 100 * change,
                          100 * interval.low, 100 * interval.high);
    }
    if (!one.reason.empty()) text += ": " + one.reason;
    lines.push_back({verdict == base::Verdict::slower ? Tone::bad : Tone::plain, std::move(text)});
  }
}

void add_missing_line(const std::vector<std::string>& ids, const char* what, Tone tone,
                      std::vector<Line>& lines) {
  if (ids.empty()) return;
  lines.push_back({tone, fmt::format("{}: {}", what, base::first_of(ids, ids_in_line))});
}

void add_missing_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  if (!outcome.baseline) return;
  const report::RunComparison& compared = outcome.baseline->compared;
  const Tone tone = compared.is_strict_baseline ? Tone::bad : Tone::warning;
  add_missing_line(compared.missing_in_old, "not in the baseline", tone, lines);
  add_missing_line(compared.missing_in_new, "in the baseline, but not measured now", tone, lines);
}

void add_reason_lines(const BenchCopyOutcome& outcome, Status status, const char* lead, Tone tone,
                      std::vector<Line>& lines) {
  std::vector<report::Remark> remarks;
  for (const CopyResult& result : outcome.results) {
    if (result.status != status) continue;
    remarks.push_back(report::remark_of(result, tone, lead, result.reason));
  }
  for (Line& line : lines_of(remarks)) lines.push_back(std::move(line));
}

void add_share_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  std::vector<report::Remark> remarks;
  for (const CopyResult& result : outcome.results) report::add_share_remark(result, remarks);
  for (Line& line : lines_of(remarks)) lines.push_back(std::move(line));
}

void add_doubt_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  std::vector<report::Remark> remarks;
  for (const CopyResult& result : outcome.results) {
    const auto doubt = [&](std::string text) {
      remarks.push_back(report::remark_of(result, Tone::warning, "", std::move(text)));
    };
    if (result.has_gate_expired) doubt("the start gate timed out; measured without it");
    if (result.is_serialised) {
      doubt("the copies ran one after the other");
    } else if (result.clocks_disagree && result.wall_s &&
               result.spec.devices.front().platform() != Platform::cpu) {  // one clock there
      doubt(fmt::format("the host's clock says {}, the device's events {}",
                        format_duration(*result.wall_s), format_duration(result.summary.median)));
    }
  }
  for (Line& line : lines_of(remarks)) lines.push_back(std::move(line));
}

void add_throttle_lines(const BenchCopyOutcome& outcome, std::vector<Line>& lines) {
  for (const measure::WatchedDevice& watched : outcome.devices) {
    if (watched.has_timed_out) {
      lines.push_back({Tone::warning, fmt::format("{}: {}, so throttling may be missed",
                                                  watched.device.id(), hip::sensors_hang)});
    }
    const auto& reasons = watched.during.sensors.throttle_reasons;
    if (!reasons || reasons->empty()) continue;
    lines.push_back({Tone::warning, fmt::format("{}: clocks were throttled: {}",
                                                watched.device.id(), fmt::join(*reasons, ", "))});
  }
}

std::vector<double> rates_of(const CopyResult& result) {
  std::vector<double> rates;
  for (const double sample_s : result.samples_s) rates.push_back(1 / sample_s);
  return rates;
}

Value status_name(const CopyResult& result) {
  if (result.status == Status::ok) return short_name(result);
  return fmt::format("{} [{}]", short_name(result), to_string(result.status));
}

// "nvidia:0", "nvidia:0>nvidia:1", "nvidia:0>others", "all".
std::string device_words_of(const CopyResult& result) {
  const measure::CopySpec& spec = result.spec;
  const std::string first = spec.devices.front().id();
  switch (spec.kind) {
    case measure::CopyKind::one_to_all: return first + ">others";
    case measure::CopyKind::all_to_one: return "others>" + first;
    case measure::CopyKind::p2p_read:
    case measure::CopyKind::p2p_write: return first + ">" + spec.devices.back().id();
    case measure::CopyKind::p2p_bidir: return first + "+" + spec.devices.back().id();
    default:
      return spec.devices.size() > 1 && spec.beside == measure::Beside::nothing ? "all" : first;
  }
}

Value variation_of(const CopyResult& result) {
  return result.samples_s.empty() ? Value() : Value(result.summary.variation);
}

// "CV" is the coefficient of variation of the samples.
report::Fields<CopyResult> result_fields(bool unicode) {
  using One = const CopyResult&;
  return {
      {{"copy", "Copy"}, status_name},
      {{"devices", "Devices"}, device_words_of},
      {{"node", "Node"}, [](One one) { return one.spec.node; }},
      {{"size", "Size", Unit::size}, [](One one) { return one.spec.size_bytes; }},
      {{"rate", "Median", Unit::rate}, &CopyResult::bytes_per_s},
      {{"share", "Of limit", Unit::share}, &CopyResult::share_of_limit},
      {{"latency", "Median", Unit::duration}, &CopyResult::median_s},
      {{"cv", unicode ? "± CV" : "CV", Unit::share}, variation_of},
      {{.key = "range", .title = "Range", .may_be_left_out = true},
       [](One one) { return report::text_or_absent(report::range_text(one)); }},
      {{.key = "samples", .title = "Samples", .may_be_left_out = true},
       [](One one) { return sparkline(rates_of(one), sparkline_columns); }},
  };
}

// Between more than two devices; two pairs are as easy to read as rows, which show more.
std::vector<report::Matrix> shown_matrices(const BenchCopyOutcome& outcome) {
  constexpr std::ptrdiff_t fewest_pairs = 3;
  std::vector<report::Measurement> measurements(outcome.results.begin(), outcome.results.end());
  std::vector<report::Matrix> matrices = report::matrices_of(measurements);
  std::erase_if(matrices, [&](const report::Matrix& matrix) {
    return std::count_if(measurements.begin(), measurements.end(), [&](const auto& one) {
             return one.status == Status::ok && one.label == matrix.label;
           }) < fewest_pairs;
  });
  return matrices;
}

// Without those that a matrix shows; one that failed has its reason in a row.
Results shown_results(const BenchCopyOutcome& outcome, bool is_latency) {
  std::set<std::string> in_matrix;
  for (const report::Matrix& matrix : shown_matrices(outcome)) in_matrix.insert(matrix.label);
  Results shown;
  for (const CopyResult& result : outcome.results) {
    if (result.status == Status::skipped || result.spec.is_latency != is_latency) continue;
    if (result.status == Status::ok && in_matrix.count(result.label) > 0) continue;
    shown.emplace_back(result);
  }
  return shown;
}

std::vector<std::string_view> first_keys(const BenchCopyOutcome& outcome) {
  std::vector<std::string_view> keys{"copy"};
  if (outcome.devices.size() > 1) keys.push_back("devices");
  const bool has_nodes =
      std::any_of(outcome.results.begin(), outcome.results.end(),
                  [](const CopyResult& result) { return result.spec.node.has_value(); });
  if (has_nodes) keys.push_back("node");
  keys.push_back("size");
  return keys;
}

report::Table rates_table(const BenchCopyOutcome& outcome, bool unicode) {
  const Results results = shown_results(outcome, false);
  std::vector<std::string_view> keys = first_keys(outcome);
  keys.push_back("rate");
  const bool has_limit = std::any_of(results.begin(), results.end(), [](const CopyResult& result) {
    return result.limit.has_value();
  });
  if (has_limit) keys.push_back("share");
  keys.push_back("cv");
  keys.push_back("range");
  if (unicode) keys.push_back("samples");
  return result_fields(unicode).only(keys).table("", results);
}

report::Table latency_table(const BenchCopyOutcome& outcome, bool is_chase, bool unicode) {
  std::vector<std::string_view> keys = first_keys(outcome);
  keys.insert(keys.end(), {"latency", "cv", "range"});
  Results results = shown_results(outcome, true);
  std::erase_if(results,
                [is_chase](const CopyResult& one) { return one.spec.is_chase != is_chase; });
  return result_fields(unicode).only(keys).table(
      is_chase ? "Latency of a load by a kernel that follows pointers"
               : "Latency of one copy and the wait for it",
      results);
}

}  // namespace

std::string sparkline(const std::vector<double>& rates, std::size_t width) {
  if (rates.empty() || width == 0) return {};
  std::vector<double> bars;
  const std::size_t count = std::min(width, rates.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = rates.size() * i / count;
    const std::size_t end = rates.size() * (i + 1) / count;
    bars.push_back(base::median(std::span(rates).subspan(begin, end - begin)));
  }
  const double most = *std::max_element(bars.begin(), bars.end());
  const double least =
      std::min(*std::min_element(bars.begin(), bars.end()), (1 - shown_range) * most);
  constexpr std::array heights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const double bar : bars) {
    const double share = most > least ? (bar - least) / (most - least) : 1;
    const auto height = static_cast<std::size_t>(std::lround(share * (heights.size() - 1)));
    text += heights[std::min(height, heights.size() - 1)];
  }
  return text;
}

report::Report bench_copy_report(report::Run run, const BenchCopyOutcome& outcome, bool unicode) {
  report::Report report = report::start_report(std::move(run));
  std::vector<report::Measurement> measurements;
  for (const CopyResult& result : outcome.results) measurements.push_back(measurement_of(result));
  set_measurements(report, std::move(measurements));
  set_thresholds(report, outcome.thresholds);
  set_comparisons(report, outcome.baseline ? outcome.baseline->compared.comparisons
                                           : std::vector<report::Comparison>());
  add_bench_copy_fields(outcome, report.document);
  report.verdict = summary_lines(outcome);
  add_action_lines(report);
  add_wrong_lines(outcome, report.verdict);
  add_threshold_lines(outcome, report.verdict);
  add_comparison_lines(outcome, report.verdict);
  add_missing_lines(outcome, report.verdict);
  std::vector<report::Table> tables{rates_table(outcome, unicode)};
  for (const report::Matrix& matrix : shown_matrices(outcome)) {
    tables.push_back(report::table_of(matrix));
  }
  tables.push_back(latency_table(outcome, false, unicode));
  tables.push_back(latency_table(outcome, true, unicode));
  for (report::Table& table : tables) {
    if (!table.rows.empty()) report.tables.push_back(std::move(table));
  }
  add_reason_lines(outcome, Status::failed, "failed: ", Tone::bad, report.notes);
  const std::string variation = report::variation_text(report.measurements);
  if (!variation.empty()) report.notes.push_back({Tone::plain, variation});
  add_share_lines(outcome, report.notes);
  add_doubt_lines(outcome, report.notes);
  add_throttle_lines(outcome, report.notes);
  add_reason_lines(outcome, Status::skipped, "skipped ", Tone::plain, report.notes);
  return report;
}

}  // namespace hiptool::results
