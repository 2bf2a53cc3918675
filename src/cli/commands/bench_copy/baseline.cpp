// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/baseline.hpp"

#include <algorithm>

#include "cli/commands/bench_copy/document.hpp"
#include "cli/commands/report/compare.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

using report::Measurement;

constexpr const char* command = "bench-copy";

bool was_measured(const Measurement& one) { return one.status == "ok" && !one.samples_s.empty(); }

bool has(const ReportFile& file, const std::string& id) {
  return std::any_of(file.measured.begin(), file.measured.end(),
                     [&](const Measurement& one) { return one.id == id && was_measured(one); });
}

std::vector<std::string> only_in(const ReportFile& one, const ReportFile& other) {
  std::vector<std::string> ids;
  for (const Measurement& measured : one.measured) {
    if (was_measured(measured) && !has(other, measured.id)) ids.push_back(measured.id);
  }
  return ids;
}

}  // namespace

ReportFile read_baseline(const std::string& path) {
  ReportFile file = read_report_file(path);
  if (file.kind.name != command) {
    throw Error(ErrorCode::invalid_argument, "read baseline",
                "--baseline: " + path + " is a document of " + file.kind.name,
                "write one with `hiptool bench-copy --export json=FILE`");
  }
  return file;
}

Baseline compare_with_baseline(const ReportFile& before, const BenchCopyOutcome& outcome) {
  ReportFile now;
  now.path = "this run";
  now.kind = before.kind;
  now.status = "ok";
  now.document = {{"schema", "hiptool." + std::string(command) + "/" + before.kind.version}};
  add_bench_copy_fields(outcome, now.document);
  now.measured = report::measurements(now.document);
  Baseline baseline;
  baseline.path = before.path;
  baseline.only_before = only_in(before, now);
  baseline.only_now = only_in(now, before);
  const bool has_common =
      std::any_of(now.measured.begin(), now.measured.end(),
                  [&](const Measurement& one) { return was_measured(one) && has(before, one.id); });
  if (!has_common) return baseline;
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
