// SPDX-License-Identifier: MIT
// Two documents with any numbers in their fields, compared.
#include <cstddef>
#include <cstdint>

#include "check_report.hpp"
#include "cli/commands/report/compare.hpp"
#include "cli/document.hpp"
#include "hiptool/error.hpp"
#include "made_report.hpp"
#include "report_environment.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool;
  fuzz::ByteSource source(bytes, size);
  const std::uint8_t format = source.byte();
  const bool are_copies = source.byte() % 2 == 0;
  // Both from the same bytes for an odd number, so that most measurements are in both.
  fuzz::ByteSource again = source;
  const bool is_alike = source.byte() % 2 == 1;
  again.byte();
  try {
    const report::ReportFile before =
        report::report_file_of(fuzz::made_measurements(source, are_copies), "old");
    fuzz::ByteSource& second = is_alike ? again : source;
    const report::ReportFile after =
        report::report_file_of(fuzz::made_measurements(second, are_copies), "new");
    const report::ReportComparison comparison = report::compare_reports(before, after, 0.03);
    report::Object document{{"schema", "hiptool.report/1"}, {"status", "ok"}};
    cli::finish_document(document, fuzz::silent_environment(), nullptr,
                         cli::comparison_failures(comparison));
    fuzz::check_report(cli::make_compare_reports(std::move(document), comparison, before, after),
                       format);
  } catch (const Error&) {
    // Two measurements have one id.
  }
  return 0;
}
