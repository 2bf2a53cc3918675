// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "hiptool/model_summary.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// Adds what the model is to the fields of `model` in `hiptool.load/1`.
void add_summary_fields(report::Object& model, const ModelSummary& summary);

/// The same for people: "layers  32, embedding 4 096, ...". What the model does not tell is left
/// out, also a whole line.
std::vector<report::Line> summary_lines(const ModelSummary& summary);

/// One row for each element type, with its share of the bytes.
report::Table types_table(const ModelSummary& summary);

}  // namespace hiptool::cli
