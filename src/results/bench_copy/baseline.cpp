// SPDX-License-Identifier: MIT
#include "results/bench_copy/outcome.hpp"

#include <set>
#include <utility>

#include "hiptool/error.hpp"
#include "report/compare.hpp"

namespace hiptool::results {
namespace {

using report::Measurement;
using report::RunFile;

constexpr const char* command = "bench-copy";

bool was_measured(const Measurement& one) {
  return one.status == report::Status::ok && !one.samples_s.empty();
}

std::set<std::string> measured_ids(const RunFile& file) {
  std::set<std::string> ids;
  for (const Measurement& one : file.measurements) {
    if (was_measured(one)) ids.insert(one.id);
  }
  return ids;
}

// In the order of the file.
std::vector<std::string> not_among(const std::set<std::string>& others, const RunFile& file) {
  std::vector<std::string> ids;
  for (const Measurement& one : file.measurements) {
    if (was_measured(one) && others.count(one.id) == 0) ids.push_back(one.id);
  }
  return ids;
}

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
                               std::optional<double> effect) {
  RunFile now;
  now.run.command = command;
  now.measurements.assign(outcome.results.begin(), outcome.results.end());
  now.setup = setup_value(outcome);
  Baseline baseline;
  baseline.path = before.path;
  const std::set<std::string> ids_now = measured_ids(now);
  const std::set<std::string> ids_before = measured_ids(before);
  baseline.only_before = not_among(ids_now, before);
  baseline.only_now = not_among(ids_before, now);
  if (baseline.only_now.size() == ids_now.size()) return baseline;
  for (report::Comparison& one : report::compare_runs(before, now, effect).comparisons) {
    if (ids_before.count(one.id) == 0 || ids_now.count(one.id) == 0) continue;
    one.rate_change.reset();  // the document has only the change of the time
    baseline.comparisons.push_back(std::move(one));
  }
  return baseline;
}

}  // namespace hiptool::results
