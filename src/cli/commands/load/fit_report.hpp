// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "hiptool/load_plan.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// The field `fit` of `hiptool.load/1`.
report::Value fit_value(const ModelFit& fit);

/// The first line for a model that was only planned: "planned 4.37 GiB on amd:0, which fits ..." or
/// "does not fit: ...".
report::Line fit_verdict(const ModelFit& fit, std::uint64_t tensor_bytes,
                         std::size_t chosen_devices);

/// The required memory by purpose, and the maximum context.
std::vector<report::Line> fit_lines(const ModelFit& fit);

/// Limits of the numbers, and a warning for a context beyond that of the training.
std::vector<report::Line> fit_notes(const ModelFit& fit, const ModelSummary& summary);

/// One row for each device; no rows where nothing fits.
report::Table fit_table(const ModelFit& fit);

}  // namespace hiptool::cli
