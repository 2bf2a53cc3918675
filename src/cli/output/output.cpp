// SPDX-License-Identifier: MIT
#include "cli/output/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "base/output_file.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/standard_output.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_columns = 100;

struct Writer {
  OutputFormat format;
  std::string_view name;
  std::string (*render)(const report::Report& report);  ///< null: to_table(), which takes a style
};

constexpr std::array writers{
    Writer{OutputFormat::table, "table", nullptr},
    Writer{OutputFormat::json, "json", report::to_json},
    Writer{OutputFormat::csv, "csv", report::to_csv},
    Writer{OutputFormat::markdown, "markdown", report::to_markdown},
    Writer{OutputFormat::html, "html", report::to_html},
    Writer{OutputFormat::svg, "svg", report::to_svg},
    Writer{OutputFormat::gbench, "gbench", report::to_gbench},
    Writer{OutputFormat::gha, "gha", report::to_gha},
    Writer{OutputFormat::bmf, "bmf", report::to_bmf},
    Writer{OutputFormat::junit, "junit", report::to_junit},
    Writer{OutputFormat::prom, "prom", report::to_prom},
};

const Writer& writer_of(OutputFormat format) noexcept {
  return *std::find_if(writers.begin(), writers.end(),
                       [format](const Writer& writer) { return writer.format == format; });
}

std::string render(OutputFormat format, const report::Report& report,
                   const report::TableStyle& style) {
  const auto writer = writer_of(format).render;
  return writer == nullptr ? report::to_table(report, style) : writer(report);
}

// open() of a pipe blocks until it has a reader; wait for one no longer than 2 s.
int open_special(const fs::path& path) {
  constexpr int tries = 40;
  constexpr std::chrono::milliseconds pause{50};
  int descriptor = -1;
  for (int i = 0; i < tries; ++i) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0 || errno != ENXIO) break;
    std::this_thread::sleep_for(pause);
    errno = ENXIO;
  }
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

mode_t creation_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

/// A new descriptor of standard output or error where the path is the regular file that it writes
/// to; -1 otherwise. A renamed file would take the place of what the command prints.
int open_standard_stream(const fs::path& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return -1;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open {};
    if (::fstat(stream, &open) != 0) continue;
    const bool is_same = open.st_dev == file.st_dev && open.st_ino == file.st_ino;
    if (is_same) return ::fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  return -1;
}

}  // namespace

std::vector<OutputFormat> all_formats() {
  std::vector<OutputFormat> list;
  for (const Writer& writer : writers) list.push_back(writer.format);
  return list;
}

std::string_view to_string(OutputFormat format) noexcept { return writer_of(format).name; }

OutputFormat parse_format(std::string_view text, const std::vector<OutputFormat>& formats,
                          const std::string& what) {
  std::vector<std::string> names;
  for (const OutputFormat format : formats) names.emplace_back(to_string(format));
  const std::string name = choice_of(text, names, what);
  return *std::find_if(formats.begin(), formats.end(),
                       [&](OutputFormat format) { return to_string(format) == name; });
}

Export parse_export(std::string_view text, const std::vector<OutputFormat>& formats) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size()) {
    throw Error(ErrorCode::invalid_argument, "parse export",
                fmt::format("invalid value '{}' for --export: expected FORMAT=FILE", text),
                "for example --export json=result.json");
  }
  const OutputFormat format = parse_format(text.substr(0, equals), formats, "--export");
  return {format, fs::path(text.substr(equals + 1))};
}

ExportFile::ExportFile(const fs::path& path, std::string option)
    : target_(path), option_(std::move(option)) {
  if (is_standard_output(path.string())) {
    descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor_ < 0) fail(errno, "open");
    return;
  }
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = open_special(path);
    if (descriptor_ < 0 && errno == ENXIO) fail_without_reader();
    if (descriptor_ < 0) fail(errno, "open");
    return;
  }
  descriptor_ = open_standard_stream(path);
  if (descriptor_ >= 0) return;
  if (fs::exists(status)) {
    if (::access(path.c_str(), W_OK) != 0) fail(errno, "open");
  }
  target_ = base::target_of_links(path);
  temporary_ = target_.string() + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail(errno, "create");
  }
  listed_.emplace(temporary_);
  ::fchmod(descriptor_, 0666 & ~creation_mask());
}

ExportFile::~ExportFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ExportFile::fail(int error, const char* what) const {
  const bool lacks_folder = error == ENOENT && std::string_view(what) == "create";
  throw Error(ErrorCode::output_failed, what,
              fmt::format("cannot {} {}: {}", what, target_.string(),
                          std::generic_category().message(error)),
              (lacks_folder ? "create the folder first, or choose another file with "
                            : "choose another file with ") +
                  option_);
}

void ExportFile::fail_without_reader() const {
  throw Error(ErrorCode::output_failed, "open",
              fmt::format("cannot open {}: no process reads this pipe", target_.string()),
              "start the reader first, or choose a regular file with " + option_);
}

void ExportFile::write(std::string_view text) {
  DescriptorStream stream(descriptor_);
  const int error = stream.write(text);
  const bool is_reader_gone = error == EPIPE;  // as of standard output, that is no failure
  if (error != 0 && !is_reader_gone) fail(error, "write");
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail(errno, "write");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno, "rename to");
  temporary_.clear();
  listed_.reset();
}

struct Output::OpenExport {
  explicit OpenExport(const Export& opened) : request(opened), file(opened.path) {}
  Export request;
  ExportFile file;
};

Output::Output(Console& console, std::optional<OutputFormat> format,
               const std::vector<Export>& exports)
    : console_(console),
      format_(format.value_or(OutputFormat::table)),
      is_chosen_(format.has_value()) {
  for (const Export& request : exports) exports_.push_back(std::make_unique<OpenExport>(request));
}

Output::~Output() = default;

std::vector<OutputFormat> Output::formats() const {
  std::vector<OutputFormat> list{format_};
  for (const auto& target : exports_) list.push_back(target->request.format);
  return list;
}

std::vector<fs::path> Output::export_paths() const {
  std::vector<fs::path> paths;
  for (const auto& target : exports_) paths.push_back(target->request.path);
  return paths;
}

void Output::discard_exports() noexcept { exports_.clear(); }

report::Report Output::explained(report::Report report) const {
  if (!device_text_.empty() && !report.verdict.empty()) {
    report.verdict.front().text += " (" + device_text_ + ")";
  }
  return report;
}

void Output::write_exports(const report::Report& report) { write_files(explained(report)); }

bool Output::write_file(ExportFile& file, std::string_view text) {
  try {
    file.write(text);
    return true;
  } catch (const Error& error) {
    print_error(console_, error);
    has_failed_ = true;
    return false;
  }
}

int Output::finish(int exit_code) const {
  return has_failed_ ? worse_of(exit_code, exit_code_of(ErrorCode::output_failed)) : exit_code;
}

void Output::write_files(const report::Report& report) {
  const auto targets = std::exchange(exports_, {});  // none is written twice
  for (const auto& target : targets) {
    write_file(target->file, render(target->request.format, report, {file_columns, false, true}));
  }
}

void Output::write(const report::Report& plain) {
  const report::Report report = explained(plain);
  write_files(report);
  has_written_ = true;
  const std::size_t height = console_.is_terminal_out() ? console_.height_out() : 0;
  console_.out(
      render(format_, report,
             {console_.width_out(), console_.has_color_out(), console_.has_unicode(), height}));
}

}  // namespace hiptool::cli
