// SPDX-License-Identifier: MIT
#include "results/bench_copy/outcome.hpp"

#include <utility>

#include "hiptool/error.hpp"
#include "report/compare.hpp"

namespace hiptool::results {
namespace {

using report::RunFile;

constexpr const char* command = "bench-copy";

}  // namespace

RunFile read_baseline(const std::string& path, const CancelToken& cancel) {
  RunFile file = report::read_run_file(path, &cancel);
  if (file.run.command != command) {
    throw Error(ErrorCode::invalid_argument, "read baseline",
                "--baseline: " + path + " is a document of " + file.run.command,
                "write one with `hiptool bench-copy --export json=FILE`");
  }
  return file;
}

Baseline compare_with_baseline(const RunFile& before, const BenchCopyOutcome& outcome,
                               report::Run run, std::optional<double> effect) {
  RunFile now;
  now.devices.insert(run.devices.begin(), run.devices.end());
  now.run = std::move(run);
  now.run.passed = true;  // how it ended is the verdict, not a warning
  now.measurements.assign(outcome.results.begin(), outcome.results.end());
  now.setup = setup_value(outcome);
  Baseline baseline{before.path, report::compare_runs(before, now, effect),
                    report::warning_lines(before, now)};
  for (report::Comparison& one : baseline.compared.comparisons) {
    one.rate_change.reset();  // the document has only the change of the time
  }
  return baseline;
}

}  // namespace hiptool::results
