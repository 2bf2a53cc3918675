// SPDX-License-Identifier: MIT
/// Documents that earlier runs wrote, read back into typed results.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "report/report.hpp"

namespace hiptool::report {

/// Kind and version of a document, by its schema: "hiptool.bench-copy/1". The kind is empty for a
/// document of another program.
struct DocumentKind {
  std::string name;  ///< "bench-copy"
  std::string version;
};
DocumentKind kind_of(const Object& document);

/// The document in a text; the path is for messages. Throws Error(corrupt_data) for anything but a
/// JSON document of hiptool, Error(input_failed) for a manifest and for expectations of `check`,
/// and Error(unsupported) for an unknown version of its schema; each names the file.
Object parse_run_document(std::string_view text, const std::string& path);

/// That of a file or pipe, read whole. Throws Error(input_failed) too where it cannot be read or
/// has more than 256 MiB, and Error(cancelled).
Object read_run_document(const std::string& path, const CancelToken* cancel);

/// All typed parts and the document, without lines and tables. Throws Error(corrupt_data) for two
/// measurements with one id.
Report read_report(Object document);

/// The same with lines and tables for people: a table for each list of objects and for each object,
/// with units by the ends of the names (_bytes, _s, _per_s, _hz). Samples and other lists of
/// numbers are left to the charts, and columns without any value, or after the hundredth, are left
/// out.
Report render_report(Object document);

/// By the device's id ("nvidia:0"), from the devices, the platforms and the context of a document.
std::map<std::string, DeviceTexts> device_texts(const Object& document);
/// Those of one; empty texts for an unknown id.
const DeviceTexts& texts_of(const std::map<std::string, DeviceTexts>& devices,
                            const std::string& id);

/// Whether a table for people has the runtime of a device: the cpu platform's is the version of
/// HIP that it implements, and would look like the version of an installed ROCm.
bool shows_runtime(const std::string& device_id);

/// The devices of a document with their drivers, a row for each. Columns without any value are left
/// out.
Table devices_table(const std::map<std::string, DeviceTexts>& devices);

/// What compare and merge need of a document. The document itself takes many times the memory.
struct RunFile {
  std::string path;
  Run run;
  Value setup;  ///< `context` of the document: clocks, links, drivers
  std::map<std::string, DeviceTexts> devices;
  std::vector<Measurement> measurements;  ///< none for kinds that measure nothing
  /// Of each measurement the median time over the fastest twentieth's; empty unless merged.
  std::vector<double> best_over_median;
};

/// Takes out of a document what is needed; the path is for messages. Throws Error(corrupt_data)
/// that names it if two measurements have one id.
RunFile run_file_of(Object document, const std::string& path);

/// Reads the document and takes out what is needed.
RunFile read_run_file(const std::string& path, const CancelToken* cancel);

}  // namespace hiptool::report
