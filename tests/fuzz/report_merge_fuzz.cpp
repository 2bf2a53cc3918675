// SPDX-License-Identifier: MIT
// Several documents with any numbers in their fields, merged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  const std::size_t files = 1 + source.below(7);
  const bool are_copies = source.byte() % 2 == 0;
  // A document of the same bytes again has other numbers if one of its host's is skipped.
  const fuzz::ByteSource start = source;
  const auto read = [&](const std::string& path) {
    const std::uint8_t how = source.byte();
    if (how >= 128) return fuzz::made_document(source);
    fuzz::ByteSource same = start;
    report::Object document = fuzz::made_measurements(how % 2 == 0 ? same : source, are_copies);
    document.emplace_back("n", path);
    return document;
  };
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < files; ++i) paths.push_back("file" + std::to_string(i));
  try {
    const report::Merge merge = report::merge_runs(paths, read);
    report::Run run;
    run.command = "report";
    run.status = "ok";
    const std::optional<Error> error = merge.error();
    cli::finish_run(run, fuzz::silent_environment(), error ? &*error : nullptr,
                    merge.run_failures());
    fuzz::check_report(cli::merge_report(std::move(run), merge), format);
  } catch (const Error&) {
    // No file is left.
  }
  return 0;
}
