// SPDX-License-Identifier: MIT
#include "report/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/input_file.hpp"
#include "base/statistics.hpp"

namespace hiptool::report {
namespace {

constexpr std::uint64_t largest_bytes = 256u << 20;

bool is_false(const Value& value) {
  const auto* truth = std::get_if<bool>(&value.data());
  return truth != nullptr && !*truth;
}

bool has_ended_badly(std::string_view status) {
  constexpr std::array bad{"", "failed", "mismatch", "interrupted", "wrong"};
  return std::find(bad.begin(), bad.end(), status) != bad.end();
}

// A measurement that went wrong, or none that was made.
bool has_bad_measurements(const Value& list) {
  const Array& all = elements(list);
  bool is_every_one_skipped = !all.empty();
  for (const Value& one : all) {
    const std::string status = text_of(member(one, "status"));
    if (!status.empty() && status != "ok" && status != "skipped") return true;
    is_every_one_skipped = is_every_one_skipped && status == "skipped";
  }
  return is_every_one_skipped;
}

// Documents written before they held their verdict.
bool passed_without_saying(const Object& document) {
  if (has_ended_badly(text_of(member(document, "status")))) return false;
  if (has_bad_measurements(member(document, "results"))) return false;
  // The `cells` of a comparison have verdicts, those of bench-copy a status.
  if (has_bad_measurements(member(document, "cells"))) return false;
  if (!member(document, "error").is_absent()) return false;
  for (const Value& threshold : elements(member(document, "thresholds"))) {
    if (is_false(member(threshold, "is_met"))) return false;
  }
  for (const Value& cell : elements(member(document, "baseline"))) {
    if (text_of(member(cell, "verdict")) == "SLOWER") return false;
  }
  for (const Value& check : elements(member(document, "checks"))) {
    if (text_of(member(check, "severity")) == "fail") return false;
  }
  const Value& values = member(document, "values");
  const double bad_values =
      number_of(member(values, "nan")).value_or(0) + number_of(member(values, "inf")).value_or(0);
  return bad_values == 0 && text_of(member(document, "verdict")) != "SLOWER";
}

Run read_run(const Object& document) {
  const Value& host = member(document, "host");
  const Value& tool = member(document, "tool");
  Run run;
  run.command = kind_of(document).name;
  run.tool_version = text_of(member(tool, "version"));
  run.tool_commit = text_of(member(tool, "commit"));
  run.host = {text_of(member(host, "name")), text_of(member(host, "kernel")),
              text_of(member(host, "cpu")), count_of(member(host, "cores")),
              count_of(member(host, "memory_bytes"))};
  run.started_at = text_of(member(document, "started_at"));
  run.status = text_of(member(document, "status"));
  const Value& error = member(document, "error");
  if (const auto* fields = std::get_if<Object>(&error.data())) run.error = *fields;
  for (const Value& failure : elements(member(document, "failures"))) {
    run.failures.push_back(
        {text_of(member(failure, "what")), member(failure, "expected"), member(failure, "got")});
  }
  if (const auto code = count_of(member(document, "exit_code")); code && *code <= 255) {
    run.exit_code = static_cast<int>(*code);
    run.passed = *code == 0 && !is_false(member(document, "passed"));
  } else {
    run.passed = passed_without_saying(document);
  }
  return run;
}

std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ".";
    text += part;
  }
  return text;
}

void read_samples(const Value& samples, Measurement& result) {
  for (const Value& sample : elements(samples)) {
    const auto time_s = number_of(sample);
    if (time_s && *time_s > 0) {
      result.samples_s.push_back(*time_s);
    } else {
      result.has_bad_sample = true;
    }
  }
}

// What copies and kernels have in common.
Measurement common_fields(const Value& entry) {
  Measurement result;
  result.id = text_of(member(entry, "id"));
  result.size_bytes = count_of(member(entry, "size_bytes")).value_or(0);
  result.status = parse_status(text_of(member(entry, "status")));
  result.reason = text_of(member(entry, "reason"));
  read_samples(member(entry, "samples_s"), result);
  result.median_s = number_of(member(entry, "median_s"));
  if (!result.median_s && !result.samples_s.empty()) {
    result.median_s = base::median(result.samples_s);
  }
  return result;
}

Measurement read_copy(const Value& entry) {
  Measurement result = common_fields(entry);
  result.source = text_of(member(entry, "source"));
  result.destination = text_of(member(entry, "destination"));
  result.bytes_per_s = number_of(member(entry, "median_bytes_per_s"));
  result.low_bytes_per_s = number_of(member(entry, "p05_bytes_per_s"));
  result.high_bytes_per_s = number_of(member(entry, "p95_bytes_per_s"));
  result.share_of_limit = number_of(member(entry, "share_of_limit"));
  // Where the id has no label, the fields have to do.
  result.series = joined({text_of(member(entry, "kind")), text_of(member(entry, "memory")),
                          text_of(member(entry, "engine"))});
  result.label = joined({result.series, size_word(result.size_bytes)});
  result.set_names();
  if (result.id.empty()) result.id = joined({result.label, result.source, result.destination});
  return result;
}

Measurement read_kernel(const Value& entry) {
  Measurement result = common_fields(entry);
  result.destination = text_of(member(entry, "device"));
  result.bytes_per_s = number_of(member(entry, "bytes_per_s"));
  result.flops_per_s = number_of(member(entry, "flops_per_s"));
  result.share_of_limit = number_of(member(entry, "share_of_peak"));
  const std::string series =
      joined({text_of(member(entry, "kernel")), text_of(member(entry, "dtype"))});
  const auto count = count_of(member(entry, "elements"));
  result.label = joined({series, count ? std::to_string(*count) : std::string()});
  result.set_names();
  result.series = series;
  if (result.id.empty()) result.id = joined({result.label, result.destination});
  return result;
}

Measurement read_check_cell(const Value& entry) {
  Measurement result = common_fields(entry);
  result.source = text_of(member(entry, "source"));
  result.destination = text_of(member(entry, "destination"));
  result.bytes_per_s = number_of(member(entry, "median_bytes_per_s"));
  result.low_bytes_per_s = number_of(member(entry, "p05_bytes_per_s"));
  result.high_bytes_per_s = number_of(member(entry, "p95_bytes_per_s"));
  result.flops_per_s = number_of(member(entry, "flops_per_s"));
  result.share_of_limit = number_of(member(entry, "share_of_limit"));
  result.set_names();
  return result;
}

std::string last_part(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

// A name for each of several models, so that no two measurements have one id: the last part of its
// path, the path where another one ends alike, with a number where the path is the same.
std::vector<std::string> model_names(const Array& models) {
  std::vector<std::string> paths;
  std::map<std::string, std::set<std::string>> by_last_part;
  for (const Value& model : models) {
    paths.push_back(text_of(member(model, "path")));
    by_last_part[last_part(paths.back())].insert(paths.back());
  }
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(by_last_part[last_part(path)].size() > 1 ? path : last_part(path));
    const int number = ++seen[path];
    if (number > 1) names.back() += "#" + std::to_string(number);
  }
  return names;
}

// `name`: of one of several models; empty for the only one.
std::vector<Measurement> measurements_of_model(const Object& document, std::string name) {
  std::vector<Measurement> results;
  const Value& model = member(document, "model");
  if (model.is_absent()) return results;
  const std::string status = text_of(member(document, "status"));
  if (name.empty()) name = last_part(text_of(member(model, "path")));
  Measurement load;
  load.id = load.label = load.series = "load." + name;
  load.status =
      status == "verified" || status == "loaded" || status == "decoded" || status == "proved"
          ? Status::ok
          : parse_status(status);
  load.size_bytes = count_of(member(model, "bytes")).value_or(0);
  load.median_s = number_of(member(document, "load_time_s"));
  load.bytes_per_s = number_of(member(document, "bytes_per_s"));
  load.share_of_limit = number_of(member(document, "share_of_limit"));
  const Array& devices = elements(member(document, "devices"));
  for (const Value& device : devices) load.destination += text_of(member(device, "id")) + ",";
  load.set_names();
  load.destination.clear();
  if (devices.size() == 1) load.destination = text_of(member(devices.front(), "id"));
  if (load.bytes_per_s) results.push_back(load);
  for (const Value& device : devices) {
    Measurement copy = load;
    copy.destination = text_of(member(device, "id"));
    copy.devices = {copy.destination};
    copy.label = copy.series = "load-copy." + name;
    copy.id = copy.label + "." + copy.destination;
    copy.size_bytes = count_of(member(device, "bytes")).value_or(0);
    copy.median_s = number_of(member(device, "copy_time_s"));
    copy.bytes_per_s = number_of(member(device, "copy_bytes_per_s"));
    copy.share_of_limit.reset();
    // Only bytes that arrived are computed with.
    if (status == "wrong") copy.status = Status::ok;
    if (copy.bytes_per_s) results.push_back(copy);
  }
  return results;
}

std::vector<Measurement> read_measurements(const Object& document, const std::string& command) {
  std::vector<Measurement> results;
  if (command == "load") {
    results = load_measurements(document);
  } else if (command == "bench-copy") {
    for (const Value& entry : elements(member(document, "cells"))) {
      results.push_back(read_copy(entry));
    }
  } else if (command == "check") {
    for (const Value& entry : elements(member(document, "cells"))) {
      results.push_back(read_check_cell(entry));
    }
  } else if (command == "run-kernel") {
    for (const Value& entry : elements(member(document, "results"))) {
      results.push_back(read_kernel(entry));
    }
  }
  std::set<std::string_view> ids;
  for (const Measurement& result : results) {
    if (ids.insert(result.id).second) continue;
    throw Error(ErrorCode::corrupt_data, "read measurements",
                "two results have the id '" + result.id + "'");
  }
  return results;
}

ThresholdResult read_threshold(const Value& entry) {
  ThresholdResult threshold;
  threshold.threshold = text_of(member(entry, "threshold"));
  threshold.id = text_of(member(entry, "cell"));
  const auto* is_met = std::get_if<bool>(&member(entry, "is_met").data());
  threshold.is_met = is_met != nullptr && *is_met;
  if (const auto reason = text_of(member(entry, "reason")); !reason.empty()) {
    threshold.missed = {reason};
  }
  threshold.least_bytes_per_s = number_of(member(entry, "least_bytes_per_s"));
  threshold.measured_bytes_per_s = number_of(member(entry, "measured_bytes_per_s"));
  threshold.most_s = number_of(member(entry, "most_s"));
  threshold.measured_s = number_of(member(entry, "measured_s"));
  return threshold;
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
  return compared;
}

Check read_check(const Value& entry) {
  const auto text = [&entry](const char* name) {
    const Value& value = member(entry, name);
    return value.is_absent() ? std::string() : format_value(value, Unit::none);
  };
  return {text("id"),   text("severity"), text("device"),
          text("read"), text("expected"), text("fix")};
}

// A stage on a device.
Check read_stage(const Value& entry) {
  const std::string status = text_of(member(entry, "status"));
  const std::string figures = text_of(member(entry, "figures"));
  const std::string reason = text_of(member(entry, "reason"));
  return {text_of(member(entry, "stage")),
          status == "passed"   ? "pass"
          : status == "failed" ? "fail"
                               : "unknown",
          text_of(member(entry, "device")),
          reason.empty() ? figures : reason,
          {},
          text_of(member(entry, "action"))};
}

template <class Item>
std::vector<Item> read_list(const Value& list, Item (*read)(const Value&)) {
  std::vector<Item> items;
  for (const Value& entry : elements(list)) items.push_back(read(entry));
  return items;
}

}  // namespace

DocumentKind kind_of(const Object& document) {
  constexpr std::string_view start = "hiptool.";
  const std::string schema = text_of(member(document, "schema"));
  const auto slash = schema.find('/');
  if (schema.compare(0, start.size(), start) != 0 || slash == std::string::npos) return {};
  return {schema.substr(start.size(), slash - start.size()), schema.substr(slash + 1)};
}

Object parse_run_document(std::string_view text, const std::string& path) {
  Value tree = parse_json(text, path);
  Object document;
  if (auto* object = tree.object()) document = std::move(*object);
  const DocumentKind kind = kind_of(document);
  if (kind.name.empty()) {
    throw Error(ErrorCode::corrupt_data, "read",
                path + ": not a document of hiptool: the JSON has no hiptool schema",
                "give a document that hiptool wrote with --format json or --export json=FILE");
  }
  if (kind.name == "manifest") {
    throw Error(ErrorCode::input_failed, "read",
                path + ": a manifest (hiptool.manifest), not the result of a run",
                "compare a model with it by `hiptool load MODEL --check-manifest FILE`");
  }
  if (kind.name == "expect") {
    throw Error(ErrorCode::input_failed, "read",
                path + ": expectations of `check` (hiptool.expect), not the result of a run",
                "compare a machine with it by `hiptool check --expect FILE`, and give the document "
                "of that run, which --export json=FILE writes");
  }
  if (kind.version != "1") {
    throw Error(ErrorCode::unsupported, "read",
                fmt::format("{}: unsupported document version hiptool.{}/{}", path, kind.name,
                            kind.version),
                "use the hiptool that wrote it, or a newer one");
  }
  return document;
}

Object read_run_document(const std::string& path, const CancelToken* cancel) {
  return parse_run_document(base::read_input_file(path, largest_bytes, cancel), path);
}

std::vector<Measurement> load_measurements(const Object& document) {
  const Array& models = elements(member(document, "models"));
  if (models.empty()) return measurements_of_model(document, {});
  std::vector<Measurement> results;
  const std::vector<std::string> names = model_names(models);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto* fields = std::get_if<Object>(&models[i].data());
    if (fields == nullptr) continue;
    for (Measurement& one : measurements_of_model(*fields, names[i])) {
      results.push_back(std::move(one));
    }
  }
  return results;
}

Report read_report(Object document) {
  Report report;
  report.run = read_run(document);
  report.measurements = read_measurements(document, report.run.command);
  report.thresholds = read_list(member(document, "thresholds"), read_threshold);
  const bool is_of_two = report.run.command == "report";
  report.comparisons =
      read_list(member(document, is_of_two ? "cells" : "baseline"), read_comparison);
  report.checks = report.run.command == "check" ? read_list(member(document, "stages"), read_stage)
                                                : read_list(member(document, "checks"), read_check);
  report.document = std::move(document);
  report.is_read = true;
  return report;
}

RunFile run_file_of(Object document, const std::string& path) {
  RunFile file;
  file.path = path;
  file.run = read_run(document);
  try {
    file.measurements = read_measurements(document, file.run.command);
  } catch (const Error& error) {
    throw error.with_context(path);
  }
  file.devices = device_texts(document);
  for (auto& [name, value] : document) {
    if (name == "context") file.setup = std::move(value);
  }
  return file;
}

RunFile read_run_file(const std::string& path, const CancelToken* cancel) {
  return run_file_of(read_run_document(path, cancel), path);
}

}  // namespace hiptool::report
