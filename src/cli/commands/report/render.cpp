// SPDX-License-Identifier: MIT
#include "cli/commands/report/render.hpp"

#include "cli/commands/report/file.hpp"
#include "cli/exit_code.hpp"
#include "report/document_report.hpp"
#include "report/matrix.hpp"

namespace hiptool::cli {

int run_report_render(const ReportOptions& options, Context& context) {
  context.output.prefer(OutputFormat::html);
  const report::Report report = report::report_of(read_report_file(options.files.front()).document);
  report::Report for_people = report;
  for (const report::Matrix& matrix : report::matrices_of(report.document)) {
    for_people.tables.push_back(report::table_of(matrix));
  }
  context.output.write(for_people, report);
  return exit_done;
}

}  // namespace hiptool::cli
