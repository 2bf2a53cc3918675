// SPDX-License-Identifier: MIT
#include "cli/commands/report/render.hpp"

#include "cli/commands/load/load_table.hpp"
#include "report/document_report.hpp"
#include "report/matrix.hpp"
#include "report/measurement.hpp"

namespace hiptool::cli {
namespace {

// What the run measured or found, as the one table of CSV.
std::vector<report::Table> main_table(const report::Report& report) {
  if (report::kind_of(report.document).name == "load") return {load_table(report.document)};
  for (const char* name : {"cells", "results", "kernels", "checks", "groups", "devices"}) {
    for (const report::Table& table : report.tables) {
      if (table.title == name) return {table};
    }
  }
  if (report.tables.empty()) return {};
  return {report.tables.front()};
}

}  // namespace

ReportPair make_render_reports(report::Object document) {
  ReportPair reports;
  reports.for_people = report::report_of(std::move(document));
  reports.for_programs = reports.for_people;
  reports.for_programs.tables = main_table(reports.for_people);
  for (const report::Matrix& matrix : report::matrices_of(reports.for_people.document)) {
    reports.for_people.tables.push_back(report::table_of(matrix));
  }
  return reports;
}

}  // namespace hiptool::cli
