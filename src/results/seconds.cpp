// SPDX-License-Identifier: MIT
#include "results/seconds.hpp"

#include <string>

#include "base/units.hpp"

namespace hiptool::results {

std::optional<report::Table> seconds_table(const std::vector<report::Measurement>& measurements,
                                           bool has_units) {
  report::Table table;
  table.title = "rates of each second";
  table.columns = {{"measurement", "Measurement"},  {"device", "Device"},
                   {"least_per_s", "Least"},        {"median_per_s", "Median"},
                   {"most_per_s", "Most"},          {"deviation_per_s", "Deviation"},
                   {"measurement_status", "Result"}};
  for (const report::Measurement& measured : measurements) {
    if (report::member(measured.details, "interval_s").is_absent()) continue;
    const auto value = [&](const char* key) -> report::Value {
      const std::optional<double> per_s = report::number_of(report::member(measured.details, key));
      if (!per_s || !has_units) return per_s;
      return measured.bytes_per_s ? format_rate(*per_s)
                                  : report::format_value(*per_s, report::Unit::operations);
    };
    const bool is_wrong = measured.status == report::Status::mismatch;
    table.rows.push_back({measured.label, measured.destination, value("least_per_s"),
                          value("median_per_s"), value("most_per_s"), value("deviation_per_s"),
                          is_wrong ? "WRONG" : "right"});
    auto& tones = table.tones.emplace_back(table.columns.size(), report::Tone::plain);
    if (is_wrong) tones.back() = report::Tone::bad;
  }
  if (table.rows.empty()) return {};
  return table;
}

}  // namespace hiptool::results
