// SPDX-License-Identifier: MIT
#include "report/pool.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/process_times.hpp"
#include "report/document.hpp"

namespace hiptool::report {
namespace {

int severity_of_status(Status status) {
  switch (status) {
    case Status::mismatch: return 5;
    case Status::failed: return 4;
    case Status::interrupted: return 3;
    case Status::unknown: return 2;
    case Status::skipped: return 1;
    case Status::ok: return 0;
  }
  return 0;
}

struct OfRun {
  const Measurement* measured = nullptr;
  std::size_t run = 0;
};

// The worst process, or of several that are right the one whose median is the middle one.
OfRun typical(std::vector<OfRun> processes) {
  const auto severity = [](const OfRun& one) { return severity_of_status(one.measured->status); };
  const auto worst = std::ranges::max_element(processes, {}, severity);
  if (severity(*worst) > 0) return *worst;
  const auto middle = processes.begin() + static_cast<std::ptrdiff_t>((processes.size() - 1) / 2);
  std::nth_element(processes.begin(), middle, processes.end(),
                   [](const OfRun& left, const OfRun& right) {
                     return left.measured->median_s < right.measured->median_s;
                   });
  return *middle;
}

void scale(std::optional<double>& rate, double factor) {
  if (rate) *rate *= factor;
}

PooledMeasurement pool_one(const std::vector<OfRun>& processes) {
  const OfRun base = typical(processes);
  PooledMeasurement pooled{*base.measured, base.run};
  Measurement& measured = pooled.measured;
  measured.samples_s.clear();
  measured.process_samples.clear();
  for (const OfRun& one : processes) {
    const std::vector<double>& samples = one.measured->samples_s;
    measured.has_bad_sample = measured.has_bad_sample || one.measured->has_bad_sample;
    if (samples.empty()) continue;
    measured.samples_s.insert(measured.samples_s.end(), samples.begin(), samples.end());
    measured.process_samples.push_back(samples.size());
  }
  const std::optional<double> base_median = base.measured->median_s;
  if (measured.samples_s.empty() || !base_median) return pooled;
  measured.median_s = base::median(process_medians(measured));
  const double factor = *base_median / *measured.median_s;
  scale(measured.bytes_per_s, factor);
  scale(measured.flops_per_s, factor);
  scale(measured.share_of_limit, factor);
  if (measured.share_of_limit && *measured.share_of_limit > 1 && measured.share_reason.empty()) {
    measured.share_reason = "half of the processes are above the limit, within its rounding";
  }
  if (measured.bytes_per_s) {
    const double bytes = *measured.bytes_per_s * *measured.median_s;
    measured.low_bytes_per_s = bytes / base::quantile(measured.samples_s, 0.95);
    measured.high_bytes_per_s = bytes / base::quantile(measured.samples_s, 0.05);
  }
  return pooled;
}

constexpr std::array<std::string_view, 10> pooled_keys{
    "samples_s",       "process_samples", "median_s",       "bytes_per_s",  "p05_bytes_per_s",
    "p95_bytes_per_s", "flops_per_s",     "share_of_limit", "share_reason", "latency_s"};

}  // namespace

std::vector<PooledMeasurement> pool_measurements(
    const std::vector<std::vector<Measurement>>& runs) {
  std::vector<std::string> ids;
  std::map<std::string, std::vector<OfRun>> by_id;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const Measurement& one : runs[run]) {
      auto& processes = by_id[one.id];
      if (processes.empty()) ids.push_back(one.id);
      processes.push_back({&one, run});
    }
  }
  std::vector<PooledMeasurement> pooled;
  for (const std::string& id : ids) pooled.push_back(pool_one(by_id.at(id)));
  return pooled;
}

Value pooled_value(const Object& document, const PooledMeasurement& pooled) {
  for (const Value& entry : elements(member(document, "measurements"))) {
    const auto* fields = std::get_if<Object>(&entry.data());
    if (fields == nullptr || text_of(member(entry, "id")) != pooled.measured.id) continue;
    const Object replacing = measurement_value(pooled.measured);
    Object result;
    for (const auto& [key, value] : *fields) {
      const bool is_pooled = std::ranges::find(pooled_keys, key) != pooled_keys.end();
      result.emplace_back(key, is_pooled ? member(replacing, key) : value);
    }
    return result;
  }
  return {};
}

std::optional<double> decidable_effect_of(const Measurement& measured) {
  const std::vector<double> medians = process_medians(measured);
  if (medians.size() < 2) return std::nullopt;
  return base::compare_processes(medians, medians, std::nullopt).decidable_effect;
}

Table pooled_table(const std::vector<Measurement>& measurements) {
  Table table{"",
              {{"id", "Measurement"},
               {"rate", "Rate", Unit::rate},
               {"operations", "Operations", Unit::operations},
               {"time", "Time", Unit::duration},
               {"share", "Of limit", Unit::share},
               {"processes", "Processes"},
               {"between", "Between them"},
               {"decidable", "Decides"}},
              {}};
  for (const Measurement& one : measurements) {
    const std::vector<double> medians = process_medians(one);
    const auto effect = decidable_effect_of(one);
    Value between;
    if (medians.size() > 1) between = effect_text(base::summarize(medians).variation);
    table.rows.push_back({one.id, one.bytes_per_s, one.flops_per_s, one.median_s,
                          one.share_of_limit, std::uint64_t{medians.size()}, std::move(between),
                          effect ? Value(effect_text(*effect)) : Value()});
  }
  remove_empty_columns(table);
  return table;
}

}  // namespace hiptool::report
