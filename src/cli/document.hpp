// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "cli/environment.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace hiptool::cli {

/// The fields that begin every document: schema, tool, host, started_at and status.
report::Object make_document(const Environment& environment, std::string_view command,
                             std::string_view status);

/// Says in a document that its command failed: status, and `error` with code, message, hint and
/// native. The status is "interrupted" for a cancelled run, else "failed".
void add_error(report::Object& document, const Error& error);

/// Ends a document with its verdict and returns the exit code: that of the error if there is one,
/// else 1 if there are failures, else 0.
int finish_document(report::Object& document, const Environment& environment, const Error* error,
                    const std::vector<report::Failure>& failures = {});

/// The report of a command that failed before it had anything else to report.
report::Report failure_report(const Environment& environment, std::string_view command,
                              const Error& error);

/// The same moment as "2026-03-01T12:00:00Z".
std::string iso_time(std::chrono::system_clock::time_point time);

/// For what is told as an empty text where it is not known.
inline report::Value text_or_absent(const std::string& text) {
  return text.empty() ? report::Value() : report::Value(text);
}

}  // namespace hiptool::cli
