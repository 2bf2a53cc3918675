// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

enum class OutputFormat { table, json, csv, markdown, html, svg, gbench, gha, bmf, junit, prom };

/// All formats, in the order of the help.
const std::vector<OutputFormat>& all_formats();

std::string_view to_string(OutputFormat format) noexcept;

/// A format that the command can write. Throws Error(invalid_argument) naming the command's formats
/// otherwise; `what` is what asked for it ("--format", "HIPTOOL_FORMAT").
OutputFormat parse_format(std::string_view text, const std::vector<OutputFormat>& formats,
                          const std::string& what);

/// One `--export FORMAT=FILE`.
struct Export {
  OutputFormat format = OutputFormat::json;
  std::filesystem::path path;
};

Export parse_export(std::string_view text, const std::vector<OutputFormat>& formats);

/// A file that appears whole or not at all: written under another name beside it and then renamed.
/// What is no regular file (a pipe, /dev/stdout) is written in place. Every failure is
/// Error(output_failed) with path and reason.
class ExportFile {
 public:
  /// Opens it, so that a wrong path is known before the work starts. `option` is what named it, for
  /// the hint.
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
  int descriptor_ = -1;
};

/// Where a command's report goes: standard output in one format, and the exports.
class Output {
 public:
  /// Opens every export; without a format it is the table.
  Output(Console& console, std::optional<OutputFormat> format, const std::vector<Export>& exports);
  ~Output();

  OutputFormat format() const noexcept { return format_; }
  /// Of standard output and of the exports.
  std::vector<OutputFormat> formats() const;
  /// Where the exports go.
  std::vector<std::filesystem::path> export_paths() const;
  /// Leaves the files of the exports as they are, also if the run fails.
  void discard_exports() noexcept;
  /// The format of standard output if the user chose none.
  void prefer(OutputFormat format) noexcept {
    if (!is_chosen_) format_ = format;
  }
  /// Exports first, then standard output, so that a failing export still leaves room for the one
  /// document that says so.
  void write(const report::Report& report);
  /// The exports alone, for a run that failed.
  void write_exports(const report::Report& report);
  bool has_written() const noexcept { return has_written_; }

 private:
  struct OpenExport;
  Console& console_;
  OutputFormat format_;
  bool is_chosen_;
  std::vector<std::unique_ptr<OpenExport>> exports_;
  bool has_written_ = false;
};

}  // namespace hiptool::cli
