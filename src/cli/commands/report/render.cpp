// SPDX-License-Identifier: MIT
#include "cli/commands/report/report.hpp"
#include "report/document.hpp"
#include "report/matrix.hpp"
#include "report/shown.hpp"
#include "results/load/table.hpp"

namespace hiptool::cli {
namespace {

// The main result of a run, for CSV of a document that has no rows for it.
std::vector<report::Table> main_table(const report::Report& report) {
  if (!report.models.empty()) return {results::load_table(report.document)};
  for (const char* name : {"cells", "results", "kernels", "checks", "groups", "devices"}) {
    for (const report::Table& table : report.tables) {
      if (table.title == name) return {table};
    }
  }
  if (report.tables.empty()) return {};
  return {report.tables.front()};
}

}  // namespace

report::Report document_report(report::Object document) {
  report::Report report = report::render_report(std::move(document));
  const bool has_rows = report.models.empty() && report::results_of(report.document) != nullptr;
  if (!has_rows) report.csv_tables = main_table(report);
  if (report::read_shown(report::member(report.document, "shown"), report)) return report;
  for (const report::Matrix& matrix : report::matrices_of(report.measurements)) {
    report.tables.push_back(report::table_of(matrix));
  }
  return report;
}

}  // namespace hiptool::cli
