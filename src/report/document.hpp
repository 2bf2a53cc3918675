// SPDX-License-Identifier: MIT
/// The typed parts of a document as JSON: each is written in one place, with the same keys in the
/// documents of all commands, and read in one place. The keys are the ones that `hiptool.COMMAND/2`
/// documents have.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

/// One of `measurements`; every key is there, null where it does not apply.
Object measurement_value(const Measurement& measured);
/// Without `details`, which no command reads.
Measurement read_measurement(const Value& entry);

/// Samples and median of a measurement of any version; the median is of the samples where the
/// document has none.
void read_times(const Value& entry, Measurement& result);

/// `wrong` of a measurement, or null.
Value wrong_value(const std::optional<WrongData>& wrong);

/// One of `thresholds`.
Object threshold_value(const ThresholdResult& threshold);
ThresholdResult read_threshold(const Value& entry);

/// One of `comparisons`.
Object comparison_value(const Comparison& compared);
Comparison read_comparison(const Value& entry);

/// One of `failures`.
Object failure_value(const Failure& failure);
Failure read_failure(const Value& entry);

/// The models of a document of `load` or `prove`, of any version; one at least.
std::vector<LoadedModel> read_models(const Object& document);

/// The stages of a document of `check` as checks: each stage on a device with its worst fault, then
/// its other faults and its warnings, each code once.
std::vector<Check> checks_of_stages(const Array& stages);

/// Makes these the measurements, thresholds or comparisons of the report and of its document.
void set_measurements(Report& report, std::vector<Measurement> measurements);
void set_thresholds(Report& report, std::vector<ThresholdResult> thresholds);
void set_comparisons(Report& report, std::vector<Comparison> comparisons);

/// Documents of hiptool have about 40. A table of objects each of which has fields of its own would
/// grow with the square of the document.
inline constexpr std::size_t most_columns = 100;

/// Fields as a table: a row for each object, a column for each scalar, in the order of the first
/// object, `most_columns` at most. Objects named `details` and `wrong` are spread over columns;
/// lists, and values that are not objects, are left out.
Table table_of_objects(const Array& objects);

/// The document's `measurements`, else its `comparisons`; null where it has neither.
const Array* results_of(const Object& document);

/// What CSV has of a report, without the verdict.
Table table_of_csv(const Report& report);

/// The rows as objects with the columns' keys, of which the first may have another name.
Array objects_of(Table table, std::string_view first_key = {});

/// Leaves out the columns without any value, but not the first.
void remove_empty_columns(Table& table);

/// An empty table whose columns' titles are their keys, for programs.
Table table_of_keys(const std::vector<std::string>& keys);

}  // namespace hiptool::report
