// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hiptool::results {
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
  report::Array zeros;
  for (const std::uint32_t tensor : outcome.values->zero_tensors) {
    zeros.push_back(outcome.model->tensors()[tensor].name);
  }
  return report::Object{{"checked", outcome.values->checked},
                        {"nan", outcome.values->nan},
                        {"inf", outcome.values->infinite},
                        {"tensors", std::move(tensors)},
                        {"zeros", std::move(zeros)}};
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

std::string zeros_text(const LoadOutcome& outcome) {
  constexpr std::size_t most_named = 5;
  const std::vector<std::uint32_t>& zeros = outcome.values->zero_tensors;
  if (zeros.empty()) return {};
  std::vector<std::string> names;
  for (const std::uint32_t tensor : zeros) names.push_back(outcome.model->tensors()[tensor].name);
  return base::count_of(zeros.size(), "tensor") + (zeros.size() == 1 ? " holds" : " hold") +
         " nothing but zeros: " + base::first_of(names, most_named) +
         "; if these are weights, the file is not complete: compare its SHA-256 with the "
         "publisher's";
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

}  // namespace hiptool::results
