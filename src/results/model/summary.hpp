// SPDX-License-Identifier: MIT
/// What a model is, for reports.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hiptool/model_summary.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// "13.01 B", "134.52 M", "4 096": a count of parameters.
std::string short_count(std::uint64_t count);

/// Adds the fields of `model` in `hiptool.load/2`.
void add_summary_fields(report::Object& model, const ModelSummary& summary);

/// The same for people: "layers  32, embedding 4 096, ...", without absent values and lines that
/// would have none.
std::vector<report::Line> summary_lines(const ModelSummary& summary);

/// One row for each element type, with its share of the bytes.
report::Table types_table(const ModelSummary& summary);

}  // namespace hiptool::results
