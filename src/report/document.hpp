// SPDX-License-Identifier: MIT
/// The typed parts of a document as JSON: each is written in one place, with the same keys in the
/// documents of all commands, and read in one place. The keys are the ones that `hiptool.COMMAND/2`
/// documents have.
#pragma once
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

/// Makes these the measurements of the report, of its document and of its CSV.
void set_measurements(Report& report, std::vector<Measurement> measurements);
/// The same for thresholds and comparisons, which CSV has only where it has nothing else.
void set_thresholds(Report& report, std::vector<ThresholdResult> thresholds);
void set_comparisons(Report& report, std::vector<Comparison> comparisons);

/// Fields as a table: a row for each object, a column for each scalar, in the order of the first
/// object. Objects named `details` and `wrong` are spread over columns; lists are left out.
Table table_of_objects(const Array& objects);

/// The rows as objects with the columns' keys, of which the first may have another name.
Array objects_of(Table table, std::string_view first_key = {});

/// Leaves out the columns without any value, but not the first.
void remove_empty_columns(Table& table);

/// An empty table whose columns' titles are their keys, for programs.
Table table_of_keys(const std::vector<std::string>& keys);

}  // namespace hiptool::report
