// SPDX-License-Identifier: MIT
#include "measure/kernel/family.hpp"
#include "report/document.hpp"

namespace hiptool::measure {
namespace {

report::Value layout_value(const LayoutResult& layout) {
  return report::Object{{"layout", layout.layout},
                        {"status", layout.has_wrong ? "mismatch" : "ok"},
                        {"reason", report::text_or_absent(layout.reason)},
                        {"cases", layout.cases},
                        {"checked", layout.checked},
                        {"digest", layout.digest},
                        {"wrong", report::wrong_value(layout.wrong)}};
}

}  // namespace

report::Measurement measurement_of(const KernelResult& result) {
  report::Measurement measured = result;
  const bool has_run = result.checked > 0;
  measured.details = {{"kernel", result.kernel},
                      {"elements", has_run ? report::Value(result.elements) : report::Value()},
                      {"requested_sizes_bytes", report::Array(result.requested_sizes_bytes.begin(),
                                                              result.requested_sizes_bytes.end())},
                      {"clock_hz", result.clock_hz},
                      {"digest", report::text_or_absent(result.digest)}};
  const bool is_swept = result.kind == "operation" && !result.group.empty();
  if (!is_swept) return measured;
  report::Array layouts;
  for (const LayoutResult& layout : result.layouts) layouts.push_back(layout_value(layout));
  measured.details.emplace_back("cases", result.cases);
  measured.details.emplace_back("layouts", std::move(layouts));
  return measured;
}

}  // namespace hiptool::measure
