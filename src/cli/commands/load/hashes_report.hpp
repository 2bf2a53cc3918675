// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "cli/commands/load/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// `verify.published` of the document: {file, published, found} for each file.
report::Array published_value(const LoadOutcome& outcome);

/// `manifest` of the document: {checked, written} (paths or null), {algorithm, covers_metadata} of
/// the manifest that was compared, and differences[] {tensor, file, what, expected, got}.
report::Value manifest_value(const LoadOutcome& outcome);

/// What was compared and written, for a person.
std::vector<report::Line> hashes_lines(const LoadOutcome& outcome);

}  // namespace hiptool::cli
