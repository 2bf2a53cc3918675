// SPDX-License-Identifier: MIT
#include "report/document.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/statistics.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

Value flag_where(bool condition, bool flag) { return condition ? Value(flag) : Value(); }

Value finite(double number) { return std::isfinite(number) ? Value(number) : Value(); }

bool is_list(const Value& value) { return std::holds_alternative<Array>(value.data()); }

// The fields of an object as columns and their values.
// More are not possible, and sums of fewer do not overflow.
constexpr std::uint64_t most_process_samples = std::uint64_t{1} << 32;

class Spread {
 public:
  explicit Spread(Table& table) : table_(table) {}

  void start_row() { table_.rows.emplace_back(table_.columns.size()); }

  void add(const std::string& prefix, const Object& fields) {
    for (const auto& [key, value] : fields) {
      if (is_list(value)) continue;
      if (const auto* members = std::get_if<Object>(&value.data())) {
        add(key == "details" ? prefix : prefix + key + "_", *members);
        continue;
      }
      const std::string name = prefix + key;
      auto place = places_.find(name);
      if (place == places_.end()) {
        if (table_.columns.size() == most_columns) continue;
        place = places_.emplace(name, table_.columns.size()).first;
        table_.columns.push_back({name, name});
      }
      auto& row = table_.rows.back();
      if (row.size() <= place->second) row.resize(place->second + 1);
      row[place->second] = value;
    }
  }

 private:
  Table& table_;
  std::map<std::string, std::size_t> places_;
};

// What a failed load or proof lists of wrong data and results.
void read_wrong(const Object& document, LoadedModel& load) {
  for (const Value& one : elements(member(member(document, "verify"), "mismatches"))) {
    load.wrong.push_back(format_value(one, Unit::none));
  }
  const Value& wrong = member(member(document, "prove"), "first_wrong");
  if (!wrong.is_absent()) load.wrong.push_back(format_value(wrong, Unit::none));
  const Value& values = member(document, "values");
  if (values.is_absent()) return;
  load.values = format_value(values, Unit::none);
  load.has_bad_values = number_of(member(values, "nan")).value_or(0) > 0 ||
                        number_of(member(values, "inf")).value_or(0) > 0;
}

// Of one of several models, or of the document of the only one.
LoadedModel read_model(const Object& document) {
  LoadedModel load;
  const Value& model = member(document, "model");
  load.has_model = !model.is_absent();
  load.path = text_of(member(model, "path"));
  load.status = text_of(member(document, "status"));
  load.size_bytes = count_of(member(model, "bytes")).value_or(0);
  load.load_time_s = number_of(member(document, "load_time_s"));
  load.verdict_time_s = number_of(member(document, "verdict_time_s"));
  load.bytes_per_s = number_of(member(document, "bytes_per_s"));
  load.share_of_limit = number_of(member(document, "share_of_limit"));
  load.share_reason = text_of(member(document, "share_reason"));
  explain_share(load);
  for (const Value& device : elements(member(document, "devices"))) {
    load.devices.push_back(
        {text_of(member(device, "id")), count_of(member(device, "bytes")).value_or(0),
         number_of(member(device, "copy_time_s")), number_of(member(device, "copy_bytes_per_s"))});
  }
  const auto* passed = std::get_if<bool>(&member(document, "passed").data());
  load.passed = passed != nullptr && *passed;
  if (const auto code = count_of(member(document, "exit_code"))) {
    load.exit_code = static_cast<int>(std::min<std::uint64_t>(*code, 255));
  }
  const Value& error = member(document, "error");
  if (const auto* fields = std::get_if<Object>(&error.data())) load.error = *fields;
  for (const Value& one : elements(member(document, "failures"))) {
    load.failures.push_back(read_failure(one));
  }
  read_wrong(document, load);
  return load;
}

}  // namespace

void read_times(const Value& entry, Measurement& result) {
  for (const Value& sample : elements(member(entry, "samples_s"))) {
    const auto time_s = number_of(sample);
    if (time_s && *time_s > 0) {
      result.samples_s.push_back(*time_s);
    } else {
      result.has_bad_sample = true;
    }
  }
  std::size_t of_processes = 0;
  for (const Value& count : elements(member(entry, "process_samples"))) {
    const std::uint64_t samples = std::min(count_of(count).value_or(0), most_process_samples);
    result.process_samples.push_back(samples);
    of_processes += samples;
  }
  // Which samples belong together is then not known.
  if (of_processes != result.samples_s.size()) result.process_samples.clear();
  result.median_s = number_of(member(entry, "median_s"));
  if (!result.median_s && !result.samples_s.empty()) {
    result.median_s = base::median(result.samples_s);
  }
}

Value wrong_value(const std::optional<WrongData>& wrong) {
  if (!wrong) return {};
  // Of copies there are no numbers, and no second look.
  const bool has_numbers = !wrong->expected.is_absent();
  return Object{{"argument", wrong->argument},
                {"first_bad_index", wrong->first_index},
                {"expected", wrong->expected},
                {"got", wrong->got},
                {"xor_bits", wrong->xor_bits},
                {"count", wrong->count},
                {"reread_agrees", flag_where(has_numbers, wrong->reread_agrees)}};
}

namespace {

Value process_samples_value(const Measurement& measured) {
  if (measured.process_samples.empty()) return {};
  Array counts;
  for (const std::size_t count : measured.process_samples)
    counts.emplace_back(std::uint64_t{count});
  return counts;
}

}  // namespace

Object measurement_value(const Measurement& measured) {
  const bool is_checked = measured.checked > 0;
  const auto if_checked = [is_checked](double number) {
    return is_checked ? Value(number) : Value();
  };
  return {{"id", measured.id},
          {"label", measured.label},
          {"series", measured.series},
          {"kind", measured.kind},
          {"stage", text_or_absent(measured.stage)},
          {"source", text_or_absent(measured.source)},
          {"destination", text_or_absent(measured.destination)},
          {"devices", Array(measured.devices.begin(), measured.devices.end())},
          {"size_bytes", measured.size_bytes > 0 ? Value(measured.size_bytes) : Value()},
          {"dtype", text_or_absent(measured.dtype)},
          {"shape", text_or_absent(measured.shape)},
          {"layout", text_or_absent(measured.layout)},
          {"library", text_or_absent(measured.library)},
          {"status", to_string(measured.status)},
          {"reason", text_or_absent(measured.reason)},
          {"error", measured.error ? Value(error_value(*measured.error)) : Value()},
          {"samples_s", Array(measured.samples_s.begin(), measured.samples_s.end())},
          {"process_samples", process_samples_value(measured)},
          {"median_s", measured.median_s},
          {"bytes_per_s", measured.bytes_per_s},
          {"p05_bytes_per_s", measured.low_bytes_per_s},
          {"p95_bytes_per_s", measured.high_bytes_per_s},
          {"flops_per_s", measured.flops_per_s},
          {"limit_bytes_per_s", measured.limit_bytes_per_s},
          {"limit_source", text_or_absent(measured.limit_source)},
          {"share_of_limit", measured.share_of_limit},
          {"share_reason", text_or_absent(measured.share_reason)},
          {"checked", is_checked ? Value(measured.checked) : Value()},
          {"max_error", if_checked(measured.max_error)},
          {"tolerance", if_checked(measured.tolerance)},
          {"wrong", wrong_value(measured.wrong)},
          {"details", measured.details}};
}

Measurement read_measurement(const Value& entry) {
  const auto text = [&entry](std::string_view key) { return text_of(member(entry, key)); };
  const auto number = [&entry](std::string_view key) { return number_of(member(entry, key)); };
  Measurement result;
  result.id = text("id");
  if (result.id.empty()) result.id = "unnamed";
  result.label = text("label");
  result.series = text("series");
  result.kind = text("kind");
  result.stage = text("stage");
  result.source = text("source");
  result.destination = text("destination");
  for (const Value& device : elements(member(entry, "devices"))) {
    result.devices.push_back(text_of(device));
  }
  result.size_bytes = count_of(member(entry, "size_bytes")).value_or(0);
  result.dtype = text("dtype");
  result.shape = text("shape");
  result.layout = text("layout");
  result.library = text("library");
  result.status = parse_status(text("status"));
  result.reason = text("reason");
  read_times(entry, result);
  result.bytes_per_s = number("bytes_per_s");
  result.low_bytes_per_s = number("p05_bytes_per_s");
  result.high_bytes_per_s = number("p95_bytes_per_s");
  result.flops_per_s = number("flops_per_s");
  result.limit_bytes_per_s = number("limit_bytes_per_s");
  result.limit_source = text("limit_source");
  result.share_of_limit = number("share_of_limit");
  result.share_reason = text("share_reason");
  explain_share(result);
  if (result.label.empty() || result.devices.empty()) result.set_names();
  return result;
}

Object threshold_value(const ThresholdResult& threshold) {
  return {{"threshold", threshold.threshold},
          {"measurement", text_or_absent(threshold.id)},
          {"is_met", threshold.is_met},
          {"reason", text_or_absent(threshold.reason())},
          {"least_bytes_per_s", threshold.least_bytes_per_s},
          {"measured_bytes_per_s", threshold.measured_bytes_per_s},
          {"most_s", threshold.most_s},
          {"measured_s", threshold.measured_s},
          {"met", std::uint64_t{threshold.met}},
          {"measured", std::uint64_t{threshold.measured}}};
}

ThresholdResult read_threshold(const Value& entry) {
  const auto* is_met = std::get_if<bool>(&member(entry, "is_met").data());
  ThresholdResult threshold;
  threshold.threshold = text_of(member(entry, "threshold"));
  threshold.id = text_of(member(entry, "measurement"));
  threshold.is_met = is_met != nullptr && *is_met;
  if (auto reason = text_of(member(entry, "reason")); !reason.empty()) {
    threshold.missed = {std::move(reason)};
  }
  threshold.least_bytes_per_s = number_of(member(entry, "least_bytes_per_s"));
  threshold.measured_bytes_per_s = number_of(member(entry, "measured_bytes_per_s"));
  threshold.most_s = number_of(member(entry, "most_s"));
  threshold.measured_s = number_of(member(entry, "measured_s"));
  return threshold;
}

Object comparison_value(const Comparison& compared) {
  const Value repeats =
      compared.repeats_to_decide ? Value(std::uint64_t{*compared.repeats_to_decide}) : Value();
  return {{"id", compared.id},
          {"verdict", to_string(compared.times.verdict)},
          {"change", finite(compared.times.change)},
          {"low", finite(compared.times.interval.low)},
          {"high", finite(compared.times.interval.high)},
          {"reason", text_or_absent(compared.reason)},
          {"old_median_s", compared.before.median_s},
          {"new_median_s", compared.after.median_s},
          {"old_bytes_per_s", compared.before.bytes_per_s},
          {"new_bytes_per_s", compared.after.bytes_per_s},
          {"rate_change", compared.rate_change},
          {"old_samples", std::uint64_t{compared.before.samples}},
          {"new_samples", std::uint64_t{compared.after.samples}},
          {"old_processes", std::uint64_t{compared.before.processes}},
          {"new_processes", std::uint64_t{compared.after.processes}},
          {"effect", compared.ignored.high},
          {"decidable_effect", compared.decidable_effect},
          {"repeats_to_decide", repeats}};
}

Comparison read_comparison(const Value& entry) {
  using base::Verdict;
  Comparison compared;
  compared.id = text_of(member(entry, "id"));
  compared.reason = text_of(member(entry, "reason"));
  compared.times.verdict = Verdict::same;
  for (const Verdict verdict : {Verdict::faster, Verdict::slower, Verdict::ambiguous}) {
    if (text_of(member(entry, "verdict")) == to_string(verdict)) compared.times.verdict = verdict;
  }
  compared.times.change = number_of(member(entry, "change")).value_or(std::nan(""));
  compared.rate_change = number_of(member(entry, "rate_change"));
  compared.before.median_s = number_of(member(entry, "old_median_s"));
  compared.after.median_s = number_of(member(entry, "new_median_s"));
  compared.before.bytes_per_s = number_of(member(entry, "old_bytes_per_s"));
  compared.after.bytes_per_s = number_of(member(entry, "new_bytes_per_s"));
  return compared;
}

Object failure_value(const Failure& failure) {
  const Subject& about = failure.subject;
  return {{"what", failure.what},
          {"kind", to_string(failure.kind)},
          {"host", text_or_absent(about.host)},
          {"device", text_or_absent(about.device)},
          {"stage", text_or_absent(about.stage)},
          {"measurement", text_or_absent(about.measurement)},
          {"tensor", text_or_absent(about.tensor)},
          {"file", text_or_absent(about.file)},
          {"expected", failure.expected},
          {"got", failure.got},
          {"reason", text_or_absent(failure.reason)},
          {"action", text_or_absent(failure.action)},
          {"code", text_or_absent(failure.code)},
          {"action_class", text_or_absent(failure.action_class)}};
}

namespace {

std::string printable_text(const Value& entry, std::string_view key) {
  return printable_lines(text_of(member(entry, key)));
}

StageTelemetry telemetry_of(const Value& entry) {
  return {number_of(member(entry, "median_clock_hz")),
          number_of(member(entry, "median_memory_clock_hz")),
          number_of(member(entry, "most_power_w")), number_of(member(entry, "most_temperature_c"))};
}

Check check_of_stage(const Value& stage) {
  const std::string status = text_of(member(stage, "status"));
  const std::string reason = printable_text(stage, "reason");
  return {text_of(member(stage, "stage")),
          status == "passed"   ? "pass"
          : status == "failed" ? "fail"
                               : "unknown",
          text_of(member(stage, "device")),
          reason.empty() ? printable_text(stage, "figures") : reason,
          {},
          printable_text(stage, "action"),
          text_of(member(stage, "code")),
          text_of(member(stage, "action_class")),
          telemetry_of(member(stage, "telemetry"))};
}

Check check_of_finding(const Value& stage, const Value& finding, std::string severity) {
  return {text_of(member(stage, "stage")),
          std::move(severity),
          text_of(member(stage, "device")),
          printable_text(finding, "what") + ": " + printable_text(finding, "reason"),
          {},
          printable_text(finding, "action"),
          text_of(member(finding, "code")),
          text_of(member(finding, "action_class"))};
}

}  // namespace

std::vector<Check> checks_of_stages(const Array& stages) {
  std::vector<Check> checks;
  for (const Value& stage : stages) {
    checks.push_back(check_of_stage(stage));
    std::set<std::string> seen{checks.back().code};
    for (const Value& fault : elements(member(stage, "faults"))) {
      if (!seen.insert(text_of(member(fault, "code"))).second) continue;
      checks.push_back(check_of_finding(stage, fault, "fail"));
    }
    for (const Value& warning : elements(member(stage, "warnings"))) {
      if (!seen.insert(text_of(member(warning, "code"))).second) continue;
      checks.push_back(check_of_finding(stage, warning, text_of(member(warning, "severity"))));
    }
  }
  return checks;
}

Failure read_failure(const Value& entry) {
  const auto text = [&entry](std::string_view key) { return text_of(member(entry, key)); };
  Failure failure{text("what"), member(entry, "expected"), member(entry, "got")};
  failure.kind = parse_failure_kind(text("kind"));
  failure.subject = {text("host"),        text("device"), text("stage"),
                     text("measurement"), text("tensor"), text("file")};
  failure.reason = text("reason");
  failure.action = text("action");
  failure.code = text("code");
  failure.action_class = text("action_class");
  return failure;
}

std::vector<LoadedModel> read_models(const Object& document) {
  const Array& models = elements(member(document, "models"));
  if (models.empty()) return {read_model(document)};
  std::vector<LoadedModel> loads;
  for (const Value& model : models) {
    const auto* fields = std::get_if<Object>(&model.data());
    if (fields == nullptr) continue;
    loads.push_back(read_model(*fields));
    loads.back().path = text_of(member(model, "path"));
  }
  return loads;
}

void set_measurements(Report& report, std::vector<Measurement> measurements) {
  report.measurements = std::move(measurements);
  report.document.emplace_back("measurements", array_of(report.measurements, measurement_value));
}

void set_thresholds(Report& report, std::vector<ThresholdResult> thresholds) {
  report.thresholds = std::move(thresholds);
  report.document.emplace_back("thresholds", array_of(report.thresholds, threshold_value));
}

void set_comparisons(Report& report, std::vector<Comparison> comparisons) {
  report.comparisons = std::move(comparisons);
  report.document.emplace_back("comparisons", array_of(report.comparisons, comparison_value));
}

Table table_of_objects(const Array& objects) {
  Table table;
  Spread spread(table);
  for (const Value& one : objects) {
    const auto* fields = std::get_if<Object>(&one.data());
    if (fields == nullptr) continue;
    spread.start_row();
    spread.add("", *fields);
  }
  for (auto& row : table.rows) row.resize(table.columns.size());
  return table;
}

void remove_empty_columns(Table& table) {
  for (std::size_t column = table.columns.size(); column-- > 1;) {
    const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(),
                                      [&](const auto& row) { return row[column].is_absent(); });
    if (is_empty) table.remove_column(column);
  }
}

Table table_of_keys(const std::vector<std::string>& keys) {
  Table table;
  for (const std::string& key : keys) table.columns.push_back({key, key});
  return table;
}

Array objects_of(Table table, std::string_view first_key) {
  Array objects;
  for (auto& row : table.rows) {
    Object object;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_renamed = i == 0 && !first_key.empty();
      object.emplace_back(is_renamed ? first_key : table.columns[i].key, std::move(row[i]));
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

}  // namespace hiptool::report
