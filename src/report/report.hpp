// SPDX-License-Identifier: MIT
/// What a command found out, apart from how it is written. Knows no device, no clock, no terminal.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/measurement.hpp"

namespace hiptool {
class Timeline;
}

namespace hiptool::report {

/// How a column's numbers are shown to people; operations are arithmetic operations per second.
/// `hundredths`: a number without a unit, always with two decimals.
enum class Unit { none, count, size, rate, duration, share, frequency, operations, hundredths };

/// How good a line or a table cell is, for its colour; meaning never rests on colour alone.
enum class Tone { plain, good, warning, bad };

struct Column {
  std::string key;         ///< header in CSV: "memory_total_bytes"
  std::string title = {};  ///< header for people: "Memory"
  Unit unit = Unit::none;
  /// Texts are shortened where a terminal is too narrow for the table: in the last column to what
  /// is left, in others by what the table lacks, down to 21 columns.
  bool may_be_cut = false;
  /// The column is left out where a terminal is too narrow for the table; of several the last one
  /// first, and before texts are cut.
  bool may_be_left_out = false;
};

/// Rows of values under columns. Two columns without titles are keys and their values. Absent
/// values are shown as "–" ("-" where Unicode is off) and are empty in CSV.
struct Table {
  std::string title;  ///< may be empty
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
  /// How strongly formats that can do so colour each cell, from 0 to 1; empty: not at all.
  std::vector<std::vector<double>> heat = {};
  /// How good each cell is; empty: all are plain. Of a run that did not pass no cell is good.
  std::vector<std::vector<Tone>> tones = {};
  /// Left out on a terminal, where an earlier table sums it up.
  bool is_detail = false;

  /// Absent where the row is too short.
  const Value& at(std::size_t row, std::size_t column) const;
  /// Plain where there is none for that cell.
  Tone tone_at(std::size_t row, std::size_t column) const;
  void remove_column(std::size_t column);
  /// A column with a unit, or with nothing but numbers, is aligned to the right.
  bool is_number_column(std::size_t column) const;
};

struct Line {
  Tone tone = Tone::plain;
  std::string text;
  bool names_failure =
      false;  ///< the text begins with a word that says so: "WRONG DATA", "refused"
};

/// A bad line that begins with a word for failure.
Line failure_line(std::string text);

/// How a run ended whose parts were measured one by one.
struct PartsEnd {
  std::size_t wrong = 0;           ///< parts with wrong results
  std::string wrong_on = {};       ///< the devices of these; empty: all devices of the counts
  const Error* error = nullptr;    ///< that ended the run or a part; may be null
  std::string missed = {};         ///< the thresholds that were missed; empty: none
  std::string counts = {};         ///< "3 of 4 kernel runs right on cpu:0"; empty: no part was done
  std::string passed = {};         ///< behind the counts of a run that passed: ", seed 1"
  const char* first = "a kernel";  ///< that no part was done of: "interrupted before a kernel ..."
};

/// The first lines of such a run: wrong results, an interrupt, an error, thresholds, or what
/// passed.
std::vector<Line> parts_verdict(const PartsEnd& end);

/// A finished report. Writers take run, measurements, thresholds, comparisons and checks from here,
/// and the verdict from `run` alone: a run that did not pass is shown as failed in each format,
/// whatever the lines say.
struct Report {
  Run run;
  std::vector<Measurement> measurements;
  std::vector<ThresholdResult> thresholds;
  std::vector<Comparison> comparisons;  ///< with an earlier run, or of two earlier runs
  std::vector<Check> checks;
  std::vector<LoadedModel> models;  ///< of `load` and `prove`

  Object document;            ///< the JSON; its fields are fixed by the schema of the command
  bool is_read = false;       ///< the document was written by an earlier run
  std::vector<Line> verdict;  ///< for people, first on the screen
  std::vector<Table> tables;
  std::vector<Line> notes;  ///< after the tables
  /// Absent: a row for each of the document's `measurements`, else of its `comparisons`; of a
  /// document without either the tables for people.
  std::optional<std::vector<Table>> csv_tables;
};

/// A report whose document has the fields of the run and no others yet.
Report start_report(Run run);

/// The report's lines for people with the tone of the verdict. If the run did not pass, the first
/// line has Tone::bad and begins with a word for failure ("FAILED: " unless it names_failure), no
/// line has Tone::good, and there is a line even if the report has none. If it passed, no line has
/// Tone::bad.
std::vector<Line> verdict_lines(const Report& report);

/// The document; of a run also `shown`: the lines, tables and notes below, and the rows of CSV
/// where the document does not have them. Ends with a line end.
std::string to_json(const Report& report);

struct TableStyle {
  std::size_t width = 80;  ///< columns of the terminal; wider tables wrap or become key/value lists
  bool color = false;
  bool unicode = true;
  /// Lines of the terminal; 0: no terminal, and nothing is left out. Where the report takes more
  /// lines, it ends with the first line of the verdict, too.
  std::size_t height = 0;
};
std::string to_table(const Report& report, const TableStyle& style);

/// One table in base units; RFC 4180 quoting, and ' before text that would be a formula. A row ends
/// with the columns `exit_code` and `passed`; a report without rows has one row, of these two.
/// Several tables become one: the union of their columns, after a column `table` of their titles.
std::string to_csv(const Report& report);

/// Verdict, tables and notes as GitHub Markdown.
std::string to_markdown(const Report& report);

/// Charts of what was measured: rate over size, and bars. Readable in light and dark.
std::string to_svg(const Report& report);

/// One page that needs neither network nor script: verdict, charts, heat maps of pairs of devices,
/// tables and notes.
std::string to_html(const Report& report);

/// Google Benchmark's JSON: every sample as an iteration, then the median as an aggregate. Times
/// are in microseconds; processor time, which is not measured, is set to the real one. The context
/// has `hiptool_exit_code` and `hiptool_passed`.
std::string to_gbench(const Report& report);

/// github-action-benchmark's "customBiggerIsBetter": first "COMMAND verdict", 1 if the run passed,
/// else 0, which raises the alert; then rates in GB/s or GFLOP/s. Failed measurements have the
/// value 0, skipped ones are left out.
std::string to_gha(const Report& report);

/// Bencher Metric Format: rates in bytes per second, bounds at the 5th and 95th percentile; and
/// "COMMAND verdict" with the measure `passed`, 1 or 0.
std::string to_bmf(const Report& report);

/// JUnit XML: a test case for each measurement, check, threshold and comparison, and for each of
/// the run's failures that these do not show. Wrong data, a failed check, a missed threshold and
/// SLOWER are failures, a run that ended in an error is one error, AMBIGUOUS and unknown are
/// skipped. A run that passed has neither failures nor errors, any other has at least one.
std::string to_junit(const Report& report);

/// Prometheus' text exposition format 0.0.4: gauges in base units, without time stamps. The verdict
/// is `hiptool_success` (1 if the run passed, else 0) and `hiptool_exit_code`.
std::string to_prom(const Report& report);

/// The trace event format of Chrome and Perfetto: a thread for each track, an event for each span.
std::string to_trace(const Timeline& timeline);

/// One value for people: 141 GB as "131 GiB" for Unit::size, 52.4e9 as "52.4 GB/s" for Unit::rate.
std::string format_value(const Value& value, Unit unit, bool unicode = true);

/// Two values that are compared, with as many digits as they need to differ: "48.0 GB/s" and
/// "47.9 GB/s", "-19" and "-19.00004". Equal texts only where the values are equal or not finite.
std::pair<std::string, std::string> distinct_texts(const Value& left, const Value& right,
                                                   Unit unit);

/// "expected 2.5, got 2.25", in distinct_texts().
std::string expected_text(const Value& expected, const Value& got, Unit unit = Unit::none);

/// A change or deviation: "+12.5 %". Empty for what is not finite.
std::string signed_share(double share);

/// An effect, of which those below 1 % matter: "0.87 %", "3 %".
std::string effect_text(double effect);

}  // namespace hiptool::report
