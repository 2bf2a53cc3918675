// SPDX-License-Identifier: MIT
#include "cli/commands/load/report.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace hiptool::cli {
namespace {

const TensorInfo& tensor_of(const LoadOutcome& outcome, const ValueFinding& finding) {
  return outcome.model->tensors()[finding.tensor];
}

}  // namespace

report::Value values_value(const LoadOutcome& outcome) {
  report::Array tensors;
  for (const ValueFinding& finding : outcome.values->findings) {
    const TensorInfo& tensor = tensor_of(outcome, finding);
    tensors.push_back(report::Object{{"name", tensor.name},
                                     {"dtype", tensor.type.name()},
                                     {"nan", finding.nan},
                                     {"inf", finding.infinite},
                                     {"file", outcome.model->files()[tensor.file].path.string()},
                                     {"file_offset", tensor.file_offset + finding.first_offset}});
  }
  return report::Object{{"checked", outcome.values->checked},
                        {"nan", outcome.values->nan},
                        {"inf", outcome.values->infinite},
                        {"tensors", std::move(tensors)}};
}

report::Line values_line(const LoadOutcome& outcome) {
  const ValueCheckResult& values = *outcome.values;
  if (!values.findings.empty()) {
    return {report::Tone::bad,
            fmt::format("values  {} NaN and {} infinite among {}, in {} of the tensors",
                        format_count(values.nan), format_count(values.infinite),
                        format_count(values.checked), format_count(values.findings.size()))};
  }
  if (values.checked == 0) {
    return {report::Tone::plain, "values  not checked: no tensor has a type with NaN or infinity"};
  }
  return {report::Tone::plain,
          fmt::format("values  {} floats and scales, all finite", format_count(values.checked))};
}

report::Table values_table(const LoadOutcome& outcome) {
  report::Table table{"NaN and infinite values",
                      {{"name", "Tensor", report::Unit::none},
                       {"dtype", "Type", report::Unit::none},
                       {"nan", "NaN", report::Unit::count},
                       {"inf", "Infinite", report::Unit::count},
                       {"file_offset", "First at file offset", report::Unit::none}},
                      {}};
  for (const ValueFinding& finding : outcome.values->findings) {
    const TensorInfo& tensor = tensor_of(outcome, finding);
    table.rows.push_back({tensor.name, tensor.type.name(), finding.nan, finding.infinite,
                          tensor.file_offset + finding.first_offset});
  }
  return table;
}

}  // namespace hiptool::cli
