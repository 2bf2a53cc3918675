// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/baseline.hpp"

#include "cli/commands/bench_copy/document.hpp"
#include "cli/commands/report/compare.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

constexpr const char* command = "bench-copy";

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

std::vector<BaselineComparison> compare_with_baseline(const ReportFile& baseline,
                                                      const BenchCopyOutcome& outcome) {
  ReportFile now;
  now.path = "this run";
  now.kind = baseline.kind;
  now.status = outcome.status;
  now.document = {{"schema", "hiptool." + std::string(command) + "/" + baseline.kind.version}};
  add_bench_copy_fields(outcome, now.document);
  now.measured = report::measurements(now.document);
  const ReportComparison compared = compare_reports(baseline, now, base::least_effect);
  std::vector<BaselineComparison> comparisons;
  for (const ComparedCell& cell : compared.cells) {
    comparisons.push_back({cell.after->id, cell.comparison, cell.reason});
  }
  return comparisons;
}

}  // namespace hiptool::cli
