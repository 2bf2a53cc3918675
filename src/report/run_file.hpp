// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "report/measurement.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace hiptool::report {

/// What compare and merge need of a document that an earlier run wrote. The document itself takes
/// many times the memory.
struct ReportFile {
  std::string path;
  Object head;  ///< host, started_at, context and error
  std::map<std::string, DeviceTexts> devices;
  DocumentKind kind;
  std::string status;                 ///< of the run
  Verdict verdict;                    ///< of the run
  std::vector<Measurement> measured;  ///< none for kinds that measure nothing
};

/// The document in a text; the path is for messages. Throws Error(corrupt_data) for what is no JSON
/// document of hiptool, Error(input_failed) for a manifest, and Error(unsupported) for a version of
/// its schema that this hiptool does not know; each names the file.
Object parse_report_document(std::string_view text, const std::string& path);

/// That of a file or pipe, read whole. Throws Error(input_failed) too where it cannot be read or
/// has more than 256 MiB, and Error(cancelled).
Object read_report_document(const std::string& path, const CancelToken* cancel);

/// Takes out of a document what is needed; the path is for messages. Throws Error(corrupt_data)
/// that names it if two measurements have one id.
ReportFile report_file_of(Object document, const std::string& path);

/// Both together.
ReportFile read_report_file(const std::string& path, const CancelToken* cancel);

}  // namespace hiptool::report
