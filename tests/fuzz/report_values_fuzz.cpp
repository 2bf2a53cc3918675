// SPDX-License-Identifier: MIT
// A document with any numbers in its fields, in all formats.
#include <cstddef>
#include <cstdint>

#include "check_report.hpp"
#include "cli/commands/report/report.hpp"
#include "hiptool/error.hpp"
#include "made_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool;
  fuzz::ByteSource source(bytes, size);
  const std::uint8_t format = source.byte();
  try {
    fuzz::check_report(cli::document_report(fuzz::made_document(source)), format);
  } catch (const Error&) {
    // Two measurements have one id.
  }
  return 0;
}
