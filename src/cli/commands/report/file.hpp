// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "report/measurement.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace hiptool::cli {

/// A document that an earlier run wrote.
struct ReportFile {
  std::string path;
  report::Object document;
  report::DocumentKind kind;
  std::string status;                         ///< of the run
  report::Verdict verdict;                    ///< of the run
  std::vector<report::Measurement> measured;  ///< none for kinds that measure nothing
};

/// Reads a file whole. Throws Error(input_failed) where it cannot be read, Error(corrupt_data) for
/// what is no JSON document of hiptool or larger than 256 MiB, and Error(unsupported) for a version
/// of its schema that this hiptool does not know; each names the file.
ReportFile read_report_file(const std::string& path);

}  // namespace hiptool::cli
