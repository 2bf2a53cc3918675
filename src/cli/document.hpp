// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "cli/environment.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace hiptool::cli {

/// The first fields of every document: schema, tool, host, started_at and status.
report::Object make_document(const Environment& environment, std::string_view command,
                             std::string_view status);

/// Sets `status` ("interrupted" for ErrorCode::cancelled, else "failed") and `error` with code,
/// message, hint and native.
void add_error(report::Object& document, const Error& error);

/// Adds the verdict (exit_code, passed, failures) and returns the exit code: that of the error if
/// there is one, else 1 if there are failures, else 0.
int finish_document(report::Object& document, const Environment& environment, const Error* error,
                    const std::vector<report::Failure>& failures = {});

/// The report of a command that failed before it had any result.
report::Report failure_report(const Environment& environment, std::string_view command,
                              const Error& error);

/// "2026-03-01T12:00:00Z".
std::string iso_time(std::chrono::system_clock::time_point time);

/// Null in JSON for an empty text, which means unknown.
inline report::Value text_or_absent(const std::string& text) {
  return text.empty() ? report::Value() : report::Value(text);
}

}  // namespace hiptool::cli
