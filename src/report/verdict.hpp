// SPDX-License-Identifier: MIT
/// The verdict of a run, which every writer takes from the document and none works out for itself.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

/// One reason for exit code 1: a missed threshold, a failed check, NaN in a tensor.
struct Failure {
  /// "h2d.pinned>=48GB/s h2d.pinned.copy.256MiB@nvidia:0". JUnit writes a case of this name unless
  /// a threshold, check or compared cell of that name is a failed case already.
  std::string what;
  Value expected;
  Value got;
};

struct Verdict {
  std::optional<int> exit_code;  ///< absent only for documents written before they held it
  bool passed = false;           ///< exit code 0, and nothing else
  std::vector<Failure> failures;
};

/// Writes `exit_code`, `passed` and `failures`, in place of those that are there. Exit code 1 turns
/// the status "ok" into "failed".
void set_verdict(Object& document, int exit_code, const std::vector<Failure>& failures = {});

/// What set_verdict wrote; for a document without it, as far as status, error, thresholds and
/// verdict tell.
Verdict verdict_of(const Object& document);

/// The report's lines for people with the tone of the verdict. If the run did not pass, the first
/// line has Tone::bad and starts with a word for failure ("FAILED: " is put in front where it does
/// not), no line has Tone::good, and there is a line even if the report has none. If it passed, no
/// line has Tone::bad.
std::vector<Line> verdict_lines(const Report& report);

/// "exit code 5", or "no exit code" for a document that does not hold it.
std::string exit_text(const Verdict& verdict);

/// A failure in one line: "WHAT: expected EXPECTED, got GOT", without the parts that are absent.
std::string failure_text(const Failure& failure);

}  // namespace hiptool::report
