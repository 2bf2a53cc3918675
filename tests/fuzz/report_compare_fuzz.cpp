// SPDX-License-Identifier: MIT
// Two documents with any numbers in their fields, compared.
#include <cstddef>
#include <cstdint>

#include "check_report.hpp"
#include "cli/commands/report/report.hpp"
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
    const report::RunFile before =
        report::run_file_of(fuzz::made_measurements(source, are_copies), "old");
    fuzz::ByteSource& second = is_alike ? again : source;
    const report::RunFile after =
        report::run_file_of(fuzz::made_measurements(second, are_copies), "new");
    const report::RunComparison comparison = report::compare_runs(before, after, 0.03);
    report::Run run;
    run.command = "report";
    run.status = "ok";
    cli::finish_run(run, fuzz::silent_environment(), nullptr, comparison.failures());
    fuzz::check_report(cli::compare_report(std::move(run), comparison, before, after), format);
  } catch (const Error&) {
    // Two measurements have one id.
  }
  return 0;
}
