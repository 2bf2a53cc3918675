// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/baseline.hpp"

#include <set>
#include <utility>

#include "cli/commands/bench_copy/document.hpp"
#include "cli/commands/report/compare.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

using report::Measurement;

constexpr const char* command = "bench-copy";

bool was_measured(const Measurement& one) { return one.status == "ok" && !one.samples_s.empty(); }

std::set<std::string> measured_ids(const ReportFile& file) {
  std::set<std::string> ids;
  for (const Measurement& one : file.measured) {
    if (was_measured(one)) ids.insert(one.id);
  }
  return ids;
}

// In the order of the file.
std::vector<std::string> not_among(const std::set<std::string>& others, const ReportFile& file) {
  std::vector<std::string> ids;
  for (const Measurement& one : file.measured) {
    if (was_measured(one) && others.count(one.id) == 0) ids.push_back(one.id);
  }
  return ids;
}

}  // namespace

ReportFile read_baseline(const std::string& path, const CancelToken& cancel) {
  ReportFile file = read_report_file(path, &cancel);
  if (file.kind.name != command) {
    throw Error(ErrorCode::invalid_argument, "read baseline",
                "--baseline: " + path + " is a document of " + file.kind.name,
                "write one with `hiptool bench-copy --export json=FILE`");
  }
  return file;
}

Baseline compare_with_baseline(const ReportFile& before, const BenchCopyOutcome& outcome) {
  report::Object document{
      {"schema", "hiptool." + std::string(command) + "/" + before.kind.version}};
  add_bench_copy_fields(outcome, document);
  ReportFile now = report_file_of(std::move(document), "this run");
  now.status = "ok";
  Baseline baseline;
  baseline.path = before.path;
  const std::set<std::string> ids_now = measured_ids(now);
  baseline.only_before = not_among(ids_now, before);
  baseline.only_now = not_among(measured_ids(before), now);
  if (baseline.only_now.size() == ids_now.size()) return baseline;
  for (const ComparedCell& cell : compare_reports(before, now, base::least_effect).cells) {
    const Measurement& old_cell = *cell.before;
    if (!was_measured(old_cell) || !was_measured(*cell.after)) continue;
    const bool is_rate = old_cell.bytes_per_s && cell.after->bytes_per_s;
    baseline.comparisons.push_back({cell.after->id, cell.comparison, cell.reason,
                                    is_rate ? old_cell.bytes_per_s : old_cell.median_s,
                                    is_rate ? cell.after->bytes_per_s : cell.after->median_s});
  }
  return baseline;
}

}  // namespace hiptool::cli
