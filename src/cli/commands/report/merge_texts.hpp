// SPDX-License-Identifier: MIT
/// What `report merge` shows to people.
#pragma once
#include <vector>

#include "report/fields.hpp"
#include "report/merge.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

std::vector<report::Line> merge_verdict(const report::Merge& merge);

/// Machines (runs of `check`), the refused ones first; stragglers, each once; trends; what was
/// measured.
std::vector<report::Table> merge_tables(const report::Merge& merge);

/// Findings that hosts share, failures, files that were left out, hosts to exclude.
std::vector<report::Line> merge_notes(const report::Merge& merge);

/// Also the keys of `groups` in the document.
report::Fields<report::MergedGroup> merged_group_fields();

}  // namespace hiptool::cli
