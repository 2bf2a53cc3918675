// SPDX-License-Identifier: MIT
#include "report/reader.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/input_file.hpp"
#include "report/document.hpp"
#include "report/document_v1.hpp"

namespace hiptool::report {
namespace {

constexpr std::uint64_t largest_bytes = 256u << 20;

bool is_false(const Value& value) {
  const auto* truth = std::get_if<bool>(&value.data());
  return truth != nullptr && !*truth;
}

bool is_v1(const Object& document) { return kind_of(document).version != "2"; }

template <class Item>
std::vector<Item> read_list(const Value& list, Item (*read)(const Value&)) {
  std::vector<Item> items;
  for (const Value& entry : elements(list)) items.push_back(read(entry));
  return items;
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
  run.failures = is_v1(document) ? failures_v1(document)
                                 : read_list(member(document, "failures"), read_failure);
  if (const auto code = count_of(member(document, "exit_code")); code && *code <= 255) {
    run.exit_code = static_cast<int>(*code);
    run.passed = *code == 0 && !is_false(member(document, "passed"));
  } else {
    run.passed = is_v1(document) && passed_v1(document);
  }
  return run;
}

std::vector<Measurement> read_measurements(const Object& document, const std::string& command) {
  std::vector<Measurement> results =
      is_v1(document) ? measurements_v1(document, command)
                      : read_list(member(document, "measurements"), read_measurement);
  std::set<std::string_view> ids;
  for (const Measurement& result : results) {
    if (ids.insert(result.id).second) continue;
    throw Error(ErrorCode::corrupt_data, "read measurements",
                "two results have the id '" + result.id + "'");
  }
  return results;
}

Check read_check(const Value& entry) {
  const auto text = [&entry](const char* name) {
    const Value& value = member(entry, name);
    return value.is_absent() ? std::string() : format_value(value, Unit::none);
  };
  return {text("id"),       text("severity"), text("device"), text("read"),
          text("expected"), text("fix"),      text("code"),   text("action_class")};
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
  if (kind.version != "1" && kind.version != "2") {
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

Report read_report(Object document) {
  Report report;
  report.run = read_run(document);
  report.measurements = read_measurements(document, report.run.command);
  if (is_v1(document)) {
    report.thresholds = thresholds_v1(document);
    report.comparisons = comparisons_v1(document, report.run.command);
  } else {
    report.thresholds = read_list(member(document, "thresholds"), read_threshold);
    report.comparisons = read_list(member(document, "comparisons"), read_comparison);
  }
  report.checks = report.run.command == "check"
                      ? checks_of_stages(elements(member(document, "stages")))
                      : read_list(member(document, "checks"), read_check);
  const bool has_models = report.run.command == "load" || report.run.command == "prove";
  if (has_models) report.models = read_models(document);
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
