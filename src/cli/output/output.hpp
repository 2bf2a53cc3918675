// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/temporary_folder.hpp"
#include "cli/output/console.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

enum class OutputFormat { table, json, csv, markdown, html, svg, gbench, gha, bmf, junit, prom };

/// All formats, in the order of the help.
std::vector<OutputFormat> all_formats();

std::string_view to_string(OutputFormat format) noexcept;

/// Throws Error(invalid_argument) for a format that is not one of `formats`; `what` is the option
/// or variable ("--format", "HIPTOOL_FORMAT").
OutputFormat parse_format(std::string_view text, const std::vector<OutputFormat>& formats,
                          const std::string& what);

/// One `--export FORMAT=FILE`.
struct Export {
  OutputFormat format = OutputFormat::json;
  std::filesystem::path path;
};

Export parse_export(std::string_view text, const std::vector<OutputFormat>& formats);

/// A file that appears complete or not at all: written to a temporary file in the same folder, then
/// renamed. Pipes, devices, "-" (standard output) and the file that standard output goes to are
/// written in place, and a reader that closes its pipe early ends the writing quietly. Every
/// failure throws Error(output_failed) with path and reason.
class ExportFile {
 public:
  /// Opens it, so that a wrong path is reported before the work starts. `option` is for the hint.
  explicit ExportFile(const std::filesystem::path& path,
                      std::string option = "--export FORMAT=FILE");
  ~ExportFile();
  ExportFile(const ExportFile&) = delete;
  ExportFile& operator=(const ExportFile&) = delete;

  void write(std::string_view text);

 private:
  [[noreturn]] void fail(int error, const char* what) const;
  [[noreturn]] void fail_without_reader() const;

  std::filesystem::path target_;
  std::string option_;
  std::string temporary_;  ///< empty when written in place
  std::optional<base::TemporaryPath> listed_;
  int descriptor_ = -1;
};

/// Writes a command's report to standard output in one format, and to the exports.
class Output {
 public:
  /// Opens every export; without a format, standard output gets the table.
  Output(Console& console, std::optional<OutputFormat> format, const std::vector<Export>& exports);
  ~Output();

  OutputFormat format() const noexcept { return format_; }
  /// Of standard output and of the exports.
  std::vector<OutputFormat> formats() const;
  /// The files of the exports.
  std::vector<std::filesystem::path> export_paths() const;
  /// Leaves existing files of the exports untouched, also if the run fails.
  void discard_exports() noexcept;
  /// Sets the format of standard output unless the user chose one.
  void prefer(OutputFormat format) noexcept {
    if (!is_chosen_) format_ = format;
  }
  /// Ends the first line of the verdict with this, unless it is empty.
  void explain_devices(std::string text) { device_text_ = std::move(text); }
  /// Exports and standard output; one that cannot be written is reported and stops no other.
  void write(const report::Report& report);
  /// Only the exports, for a run that failed.
  void write_exports(const report::Report& report);
  /// Another file of the run, such as a trace. False, with a message on err, if it cannot be
  /// written.
  bool write_file(ExportFile& file, std::string_view text);
  bool has_written() const noexcept { return has_written_; }
  /// The exit code of the process: that of the run, or of a failed output if that is worse.
  int finish(int exit_code) const;

 private:
  void write_files(const report::Report& report);
  report::Report explained(report::Report report) const;

  struct OpenExport;
  Console& console_;
  OutputFormat format_;
  bool is_chosen_;
  std::vector<std::unique_ptr<OpenExport>> exports_;
  bool has_written_ = false;
  bool has_failed_ = false;  ///< to write one of the files
  std::string device_text_;
};

}  // namespace hiptool::cli
