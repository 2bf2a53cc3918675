// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/baseline.hpp"

#include <set>
#include <utility>

#include "cli/commands/bench_copy/document.hpp"
#include "hiptool/error.hpp"
#include "report/compare.hpp"

namespace hiptool::cli {
namespace {

using report::Measurement;

constexpr const char* command = "bench-copy";

bool was_measured(const Measurement& one) { return one.status == "ok" && !one.samples_s.empty(); }

std::set<std::string> measured_ids(const report::ReportFile& file) {
  std::set<std::string> ids;
  for (const Measurement& one : file.measured) {
    if (was_measured(one)) ids.insert(one.id);
  }
  return ids;
}

// In the order of the file.
std::vector<std::string> not_among(const std::set<std::string>& others,
                                   const report::ReportFile& file) {
  std::vector<std::string> ids;
  for (const Measurement& one : file.measured) {
    if (was_measured(one) && others.count(one.id) == 0) ids.push_back(one.id);
  }
  return ids;
}

}  // namespace

report::ReportFile read_baseline(const std::string& path, const CancelToken& cancel) {
  report::ReportFile file = report::read_report_file(path, &cancel);
  if (file.kind.name != command) {
    throw Error(ErrorCode::invalid_argument, "read baseline",
                "--baseline: " + path + " is a document of " + file.kind.name,
                "write one with `hiptool bench-copy --export json=FILE`");
  }
  return file;
}

Baseline compare_with_baseline(const report::ReportFile& before, const BenchCopyOutcome& outcome) {
  report::Object document{
      {"schema", "hiptool." + std::string(command) + "/" + before.kind.version}};
  add_bench_copy_fields(outcome, document);
  report::ReportFile now = report::report_file_of(std::move(document), "this run");
  now.status = "ok";
  Baseline baseline;
  baseline.path = before.path;
  const std::set<std::string> ids_now = measured_ids(now);
  baseline.only_before = not_among(ids_now, before);
  baseline.only_now = not_among(measured_ids(before), now);
  if (baseline.only_now.size() == ids_now.size()) return baseline;
  for (const report::ComparedMeasurement& spec :
       report::compare_reports(before, now, base::least_effect).compared) {
    const Measurement& old_cell = *spec.before;
    if (!was_measured(old_cell) || !was_measured(*spec.after)) continue;
    const bool is_rate = old_cell.bytes_per_s && spec.after->bytes_per_s;
    baseline.comparisons.push_back({spec.after->id, spec.comparison, spec.reason,
                                    is_rate ? old_cell.bytes_per_s : old_cell.median_s,
                                    is_rate ? spec.after->bytes_per_s : spec.after->median_s});
  }
  return baseline;
}

}  // namespace hiptool::cli
