// SPDX-License-Identifier: MIT
// A JSON text as `hiptool report render` reads it, in the format that the first byte says.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check_report.hpp"
#include "cli/commands/report/report.hpp"
#include "hiptool/error.hpp"
#include "report/reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  try {
    fuzz::check_report(cli::document_report(report::parse_run_document(text, "file")), bytes[0]);
  } catch (const Error&) {
    // A document that is refused.
  }
  return 0;
}
