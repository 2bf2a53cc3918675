// SPDX-License-Identifier: MIT
#include "cli/output/output.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "harness.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using hiptool::test::code_of;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

const std::vector<OutputFormat> both{OutputFormat::table, OutputFormat::json};

std::size_t file_count(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator entries(folder.path());
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

report::Report report_of(const char* text) {
  report::Report report;
  report.document = {{"text", text}};
  report.verdict = {{report::Tone::plain, text}};
  return report;
}

}  // namespace

TEST_CASE("formats outside of the command's own are refused with the list") {
  CHECK(parse_format("json", both, "--format") == OutputFormat::json);
  try {
    parse_format("html", both, "HIPTOOL_FORMAT");
    FAIL("was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.what() ==
          std::string("invalid value 'html' for HIPTOOL_FORMAT: expected one of table, json"));
  }
}

TEST_CASE("an export is a format and a file") {
  const Export parsed = parse_export("json=a=b.json", both);
  CHECK(parsed.format == OutputFormat::json);
  CHECK(parsed.path == "a=b.json");
  for (const char* text : {"", "json", "json=", "=file", "csv=file"}) {
    CAPTURE(text);
    CHECK(code_of([&] { parse_export(text, both); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("an export appears whole under its name, with the usual rights") {
  const TemporaryFolder folder;
  {
    ExportFile file(folder / "out.json");
    CHECK_FALSE(std::filesystem::exists(folder / "out.json"));
    file.write("text\n");
  }
  CHECK(start_of(folder / "out.json") == "text\n");
  CHECK(file_count(folder) == 1);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat status {};
  REQUIRE(::stat((folder / "out.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777u) == (0666u & ~mask));
}

TEST_CASE("an export that is not written leaves the old file and nothing else") {
  const TemporaryFolder folder;
  std::ofstream(folder / "out.json") << "old";
  { ExportFile file(folder / "out.json"); }
  CHECK(start_of(folder / "out.json") == "old");
  CHECK(file_count(folder) == 1);
}

TEST_CASE("a link stays a link to the new content") {
  const TemporaryFolder folder;
  std::ofstream(folder / "real.json") << "old";
  std::filesystem::create_symlink(folder / "real.json", folder / "link.json");
  ExportFile(folder / "link.json").write("new");
  CHECK(std::filesystem::is_symlink(folder / "link.json"));
  CHECK(start_of(folder / "real.json") == "new");
}

TEST_CASE("an export to standard output follows what is there, whatever that is") {
  const TemporaryFolder folder;
  const int out = ::open((folder / "out.txt").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(out >= 0);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(out, STDOUT_FILENO);
  const auto written = ::write(STDOUT_FILENO, "table\n", 6);
  ExportFile("/dev/stdout").write("first\n");
  ExportFile(folder / "out.txt").write("second\n");
  ExportFile("-").write("third\n");
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(out);
  CHECK(written == 6);
  CHECK(start_of(folder / "out.txt") == "table\nfirst\nsecond\nthird\n");
  CHECK(file_count(folder) == 1);
}

TEST_CASE("exports that cannot be written are failed outputs, known before the work") {
  const TemporaryFolder folder;
  CHECK(code_of([&] { ExportFile file(folder / "none/out.json"); }) == ErrorCode::output_failed);
  CHECK(code_of([&] { ExportFile file(folder.path()); }) == ErrorCode::output_failed);
  if (::access("/dev/full", W_OK) == 0) {
    ExportFile full("/dev/full");
    CHECK(code_of([&] { full.write("text"); }) == ErrorCode::output_failed);
  }
  CHECK(::access("/dev/null", W_OK) == 0);
  ExportFile("/dev/null").write("text");
  CHECK_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

TEST_CASE("the hint for a file that cannot be written names the option that asked for it") {
  const TemporaryFolder folder;
  const std::string bad = folder / "none/out.json";
  const auto hint_of = [&](const std::vector<std::string>& words) {
    Machine machine;
    CHECK(machine.run(words) == 7);
    CHECK(contains(machine.err.text, "error: cannot "));
    const std::string text = machine.err.text;
    return text.substr(text.find("hint:"));
  };
  CHECK(hint_of({"load", "--demo", "--trace", bad}) ==
        "hint: create the folder first, or choose another file with --trace FILE\n");
  CHECK(hint_of({"devices", "--export", "json=" + bad}) ==
        "hint: create the folder first, or choose another file with --export FORMAT=FILE\n");
  CHECK(hint_of({"report", "merge", "x.json", "--exclude-list", bad}) ==
        "hint: create the folder first, or choose another file with --exclude-list FILE\n");
  CHECK(hint_of({"devices", "--export", "json=" + folder.path().string()}) ==
        "hint: choose another file with --export FORMAT=FILE\n");
}

TEST_CASE("CSV may have a table of its own") {
  const TemporaryFolder folder;
  CaptureStream out;
  CaptureStream err;
  Console console(out, err, reader_of({}));
  Output output(console, OutputFormat::table,
                {{OutputFormat::csv, folder / "a.csv"}, {OutputFormat::markdown, folder / "a.md"}});
  CHECK_FALSE(output.has_written());
  report::Report report = report_of("people");
  report.tables = {{"people's", {{"a", "A"}}, {{1}}}};
  report.csv_tables = {{{"programs'", {{"b", "B"}}, {{2}}}}};
  output.write(report);
  CHECK(output.has_written());
  CHECK(contains(out.text, "people"));
  CHECK(contains(start_of(folder / "a.csv"), "b,exit_code,passed\n2,"));
  CHECK(contains(start_of(folder / "a.md"), "people's"));
}
