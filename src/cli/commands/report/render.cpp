// SPDX-License-Identifier: MIT
#include "cli/commands/report/render.hpp"

#include "cli/commands/load/load_table.hpp"
#include "cli/commands/report/file.hpp"
#include "cli/exit_code.hpp"
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

int run_report_render(const ReportOptions& options, Context& context) {
  context.output.prefer(OutputFormat::html);
  report::Report report = report::report_of(read_report_file(options.files.front()).document);
  report::Report for_people = report;
  report.tables = main_table(report);
  for (const report::Matrix& matrix : report::matrices_of(report.document)) {
    for_people.tables.push_back(report::table_of(matrix));
  }
  context.output.write(for_people, report);
  return exit_done;
}

}  // namespace hiptool::cli
