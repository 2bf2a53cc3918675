// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/fields.hpp"

namespace hiptool::results {
namespace {

report::Fields<ValueFinding> finding_fields(const LoadOutcome& outcome) {
  const auto tensor = [tensors =
                           outcome.model->tensors()](const ValueFinding& one) -> const TensorInfo& {
    return tensors[one.tensor];
  };
  const auto file = [=, files = outcome.model->files()](const ValueFinding& one) {
    return files[tensor(one).file].path.string();
  };
  const auto offset = [=](const ValueFinding& one) {
    return tensor(one).file_offset + one.first_offset;
  };
  return {{{"name", "Tensor"}, [=](const ValueFinding& one) { return tensor(one).name; }},
          {{"dtype", "Type"}, [=](const ValueFinding& one) { return tensor(one).type.name(); }},
          {{"nan", "NaN", report::Unit::count}, &ValueFinding::nan},
          {{"inf", "Infinite", report::Unit::count}, &ValueFinding::infinite},
          {{"file"}, file},
          {{"file_offset", "First at file offset"}, offset}};
}

}  // namespace

report::Value values_value(const LoadOutcome& outcome) {
  const auto name_of = [&](std::uint32_t tensor) { return outcome.model->tensors()[tensor].name; };
  return report::Object{{"checked", outcome.values->checked},
                        {"nan", outcome.values->nan},
                        {"inf", outcome.values->infinite},
                        {"tensors", finding_fields(outcome).objects(outcome.values->findings)},
                        {"zeros", report::array_of(outcome.values->zero_tensors, name_of)}};
}

report::Line values_line(const LoadOutcome& outcome) {
  const ValueCheckResult& values = *outcome.values;
  if (!values.findings.empty()) {
    return {report::Tone::bad,
            fmt::format("values  {} NaN and {} infinite among {}, in {} of the tensors",
                        format_count(values.nan), format_count(values.infinite),
                        format_count(values.checked), format_count(values.findings.size()))};
  }
  if (outcome.status == LoadStatus::interrupted) {
    return {report::Tone::plain,
            fmt::format("values  {} floats and scales checked before the interrupt, all finite",
                        format_count(values.checked))};
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
  return finding_fields(outcome)
      .only({"name", "dtype", "nan", "inf", "file_offset"})
      .table("NaN and infinite values", outcome.values->findings);
}

}  // namespace hiptool::results
