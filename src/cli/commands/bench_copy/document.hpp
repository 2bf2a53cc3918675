// SPDX-License-Identifier: MIT
/// The fields of `hiptool.bench-copy/1`.
#pragma once
#include "cli/commands/bench_copy/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Adds them to a document that has its head already.
void add_bench_copy_fields(const BenchCopyOutcome& outcome, report::Object& document);

/// `context` of the document: the devices and what changes copies.
report::Value setup_value(const BenchCopyOutcome& outcome);

/// One measurement; CSV has its scalars.
report::Object cell_value(const measure::CopyResult& result);

}  // namespace hiptool::cli
