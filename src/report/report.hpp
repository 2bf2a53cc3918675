// SPDX-License-Identifier: MIT
/// What a command found out, apart from how it is written. Knows no device, no clock, no terminal.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hiptool::report {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
using Object = std::vector<Member>;  ///< keeps the order in which fields were added

/// A JSON-like value: absent (null), boolean, integer, real, text, array or object. Numbers are in
/// base units: bytes, seconds, bytes per second, hertz, shares from 0 to 1.
class Value {
 public:
  using Data = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                            Array, Object>;
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(std::int64_t{value}) {}
  Value(std::int64_t value) : data_(value) {}
  Value(std::uint32_t value) : data_(std::uint64_t{value}) {}
  Value(std::uint64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(const char* value);
  Value(std::string_view value);
  Value(std::string value);
  Value(Array value);
  Value(Object value);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  template <class T>
  Value(const std::optional<T>& value) {
    if (value) *this = Value(*value);
  }

  const Data& data() const noexcept { return data_; }
  /// Its members, to be moved out; null where it is no object.
  Object* object() noexcept { return std::get_if<Object>(&data_); }
  bool is_absent() const noexcept { return std::holds_alternative<std::monostate>(data_); }

 private:
  Data data_;
};

/// How a column's numbers are shown to people; operations are those of arithmetic in a second.
enum class Unit { none, count, size, rate, duration, share, frequency, operations };

struct Column {
  std::string key;    ///< header in CSV: "memory_total_bytes"
  std::string title;  ///< header for people: "Memory"
  Unit unit = Unit::none;
};

/// Rows of values under columns. Absent values are shown as "–" ("-" where Unicode is off) and are
/// empty in CSV.
struct Table {
  std::string title;  ///< may be empty
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
  /// How strongly formats that can do so colour each cell, from 0 to 1; empty: not at all.
  std::vector<std::vector<double>> heat = {};
};

/// How good a line is, for its colour; meaning never rests on colour alone.
enum class Tone { plain, good, warning, bad };

struct Line {
  Tone tone = Tone::plain;
  std::string text;
};

/// A finished report. `document` is the JSON (its fields are fixed by the schema of the command);
/// verdict, tables and notes are what people read.
struct Report {
  Object document;
  std::vector<Line> verdict;  ///< first on the screen
  std::vector<Table> tables;
  std::vector<Line> notes;  ///< after the tables
};

/// One document that is the report's, for programs. Ends with a line end.
std::string to_json(const Report& report);

struct TableStyle {
  std::size_t width = 80;  ///< columns of the terminal; wider tables wrap or become key/value lists
  bool color = false;
  bool unicode = true;
};
std::string to_table(const Report& report, const TableStyle& style);

/// One table in base units; RFC 4180 quoting, and ' before text that would be a formula. A row ends
/// with the columns `exit_code` and `passed`; a report without rows has one row, of these two.
/// Several tables become one: the union of their columns, after a column `table` of their titles.
std::string to_csv(const Report& report);

/// Verdict, tables and notes as GitHub Markdown.
std::string to_markdown(const Report& report);

// All writers take the verdict from the document (report/verdict.hpp): a run that did not pass is
// shown as failed in each of them, whatever the lines of the report say. Those for people show the
// lines as verdict_lines() has them.

// The writers below say what the document holds; those that follow what was measured write an
// empty list for a document that measured nothing. None throws for a member that is missing.

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
/// else 0, which raises the alert; then rates in GB/s or GFLOP/s. What failed has the value 0, what
/// was skipped is left out.
std::string to_gha(const Report& report);

/// Bencher Metric Format: rates in bytes per second, bounds at the 5th and 95th percentile; and
/// "COMMAND verdict" with the measure `passed`, 1 or 0.
std::string to_bmf(const Report& report);

/// JUnit XML: a test case for each measurement, check, threshold and compared cell, and for each
/// of the document's failures that these do not show. Wrong data, a failed check, a missed
/// threshold and SLOWER are failures, a run that ended in an error is one error, AMBIGUOUS and
/// unknown are skipped. A run that passed has neither failures nor errors, any other has at least
/// one.
std::string to_junit(const Report& report);

/// Prometheus' text exposition format 0.0.4: gauges in base units, without time stamps. The verdict
/// is `hiptool_success` (1 if the run passed, else 0) and `hiptool_exit_code`.
std::string to_prom(const Report& report);

/// One value for people: 141 GB as "131 GiB" for Unit::size, 52.4e9 as "52.4 GB/s" for Unit::rate.
std::string format_value(const Value& value, Unit unit, bool unicode = true);

/// A change or deviation: "+12.5 %". Empty for what is not finite.
std::string signed_share(double share);

}  // namespace hiptool::report
