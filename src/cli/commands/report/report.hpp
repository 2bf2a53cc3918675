// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.hpp"
#include "report/compare.hpp"
#include "report/merge.hpp"

namespace hiptool::cli {

report::Report compare_report(report::Run run, const report::RunComparison& comparison,
                              const report::RunFile& before, const report::RunFile& after);

report::Report merge_report(report::Run run, const report::Merge& merge);

/// A document of an earlier run, as it was measured.
report::Report document_report(report::Object document);

}  // namespace hiptool::cli
