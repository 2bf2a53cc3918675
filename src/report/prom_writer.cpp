// SPDX-License-Identifier: MIT
#include <array>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Exposition format 0.0.4: backslash, quote and line feed are escaped in label values; printable()
// has taken the line feeds away and written \xNN, whose backslash is doubled here.
std::string label_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;  // the same as no label
    text += (text.empty() ? "{" : ",") + name + "=\"";
    for (const char letter : printable(value)) {
      if (letter == '\\' || letter == '"') text += '\\';
      text += letter;
    }
    text += '"';
  }
  return text.empty() ? text : text + "}";
}

// Gauges in the order they were first named; the samples of each follow each other, as the format
// requires, and none appears twice.
class Metrics {
 public:
  void add(const std::string& name, const std::string& help, const Labels& labels,
           std::optional<double> value) {
    if (!value) return;
    const std::string key = name + label_text(labels);
    if (!keys_.insert(key).second) return;
    const auto [place, is_new] = places_.emplace(name, texts_.size());
    if (is_new) texts_.push_back("# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n");
    texts_[place->second] += key + " " + exact_text(*value) + "\n";
  }

  std::string text() const {
    std::string all;
    for (const std::string& one : texts_) all += one;
    return all;
  }

 private:
  std::set<std::string> keys_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> texts_;
};

// Names end in the whole word of their base unit there: "clock_hz" to "clock_hertz".
std::string metric_name(std::string name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> endings{
      {{"_per_s", "_per_second"},
       {"_hz", "_hertz"},
       {"_s", "_seconds"},
       {"_c", "_celsius"},
       {"_w", "_watts"}}};
  for (const auto& [short_form, long_form] : endings) {
    if (!name.ends_with(short_form) || name == short_form) continue;
    return name.replace(name.size() - short_form.size(), std::string::npos, long_form);
  }
  return name;
}

bool is_metric_word(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// "2026-03-01T12:00:00Z"; absent for another form.
std::optional<double> unix_time(const std::string& text) {
  std::tm moment{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &moment);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(::timegm(&moment));
}

std::optional<double> number_or_truth(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value.data())) return *truth ? 1 : 0;
  return number_of(value);
}

void add_numbers(Metrics& metrics, const Value& object, const std::string& start,
                 const Labels& labels) {
  const auto* members = std::get_if<Object>(&object.data());
  if (members == nullptr) return;
  for (const auto& [name, value] : *members) {
    if (!is_metric_word(name) || name == "ordinal") continue;
    if (std::holds_alternative<Object>(value.data())) {
      add_numbers(metrics, value, start + name + "_", labels);
      continue;
    }
    metrics.add(metric_name(start + name), "The field " + name + " of a device.", labels,
                number_or_truth(value));
  }
}

void add_devices(Metrics& metrics, const Object& document) {
  for (const Value& device : elements(member(document, "devices"))) {
    const std::string id = text_of(member(device, "id"));
    Labels labels{{"device", id}};
    for (const char* name : {"platform", "name", "arch", "uuid", "pci_bus_id"}) {
      labels.emplace_back(name, text_of(member(device, name)));
    }
    metrics.add("hiptool_device_info", "A usable device; always 1.", labels, 1.0);
    add_numbers(metrics, device, "hiptool_device_", {{"device", id}});
  }
  for (const Value& platform : elements(member(document, "platforms"))) {
    const Labels labels{{"platform", text_of(member(platform, "platform"))},
                        {"runtime_version", text_of(member(platform, "runtime_version"))},
                        {"driver_version", text_of(member(platform, "driver_version"))}};
    metrics.add("hiptool_platform_usable", "1 if the platform can be used, else 0.", labels,
                text_of(member(platform, "status")) == "ok" ? 1.0 : 0.0);
  }
}

void add_checks(Metrics& metrics, const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    const Labels labels{{"check", check.id},
                        {"device", check.device},
                        {"severity", check.severity},
                        {"code", check.code},
                        {"action", check.action_class}};
    metrics.add("hiptool_check", "Outcome of a check, in its severity; always 1.", labels, 1.0);
    const Labels place{{"stage", check.id}, {"device", check.device}};
    const StageTelemetry& load = check.telemetry;
    metrics.add("hiptool_stage_clock_hertz", "Median clock during a stage.", place,
                load.median_clock_hz);
    metrics.add("hiptool_stage_memory_clock_hertz", "Median clock of the memory during a stage.",
                place, load.median_memory_clock_hz);
    metrics.add("hiptool_stage_power_watts", "Highest power during a stage.", place,
                load.most_power_w);
    metrics.add("hiptool_stage_temperature_celsius", "Highest temperature during a stage.", place,
                load.most_temperature_c);
  }
}

// What has a code and is not a stage: the error of a check, and what a merge found.
void add_failures(Metrics& metrics, const std::vector<Failure>& failures) {
  for (const Failure& failure : failures) {
    const bool is_a_check =
        failure.kind == FailureKind::stage || failure.kind == FailureKind::finding;
    if (failure.code.empty() || is_a_check) continue;
    const Labels labels{{"check", failure.what},
                        {"device", failure.subject.device},
                        {"severity", "fail"},
                        {"code", failure.code},
                        {"action", failure.action_class}};
    metrics.add("hiptool_check", "Outcome of a check, in its severity; always 1.", labels, 1.0);
  }
}

void add_thresholds(Metrics& metrics, const std::vector<ThresholdResult>& thresholds) {
  for (const ThresholdResult& one : thresholds) {
    metrics.add("hiptool_threshold_met", "1 if a measurement reached its threshold, else 0.",
                {{"threshold", one.threshold}, {"id", one.id}}, one.is_met ? 1.0 : 0.0);
  }
}

// Several models of one load. A path that was given twice has its number in the second label.
void add_models(Metrics& metrics, const std::vector<LoadedModel>& models) {
  std::map<std::string, int> seen;
  for (const LoadedModel& model : models) {
    const int number = ++seen[model.path];
    const Labels labels{
        {"model", model.path + (number > 1 ? "#" + std::to_string(number) : std::string())}};
    metrics.add("hiptool_model_success", "1 if the model passed, else 0.", labels,
                model.passed ? 1.0 : 0.0);
    metrics.add("hiptool_model_exit_code", "Exit code of a load of this model alone.", labels,
                model.exit_code);
    if (model.has_model) {
      metrics.add("hiptool_model_bytes", "Bytes of its tensors.", labels,
                  static_cast<double>(model.size_bytes));
    }
    metrics.add("hiptool_model_load_time_seconds", "From the first read to the last copy.", labels,
                model.load_time_s);
    metrics.add("hiptool_model_verdict_time_seconds", "From its start to its verdict.", labels,
                model.verdict_time_s);
    metrics.add("hiptool_model_bytes_per_second", "Rate of its load.", labels, model.bytes_per_s);
  }
}

void add_measurements(Metrics& metrics, const std::vector<Measurement>& measurements) {
  for (const Measurement& one : measurements) {
    const Labels labels{{"id", one.id},
                        {"label", one.label},
                        {"source", one.source},
                        {"destination", one.destination}};
    Labels with_status = labels;
    with_status.emplace_back("status", to_string(one.status));
    metrics.add("hiptool_measurement_status", "How a measurement ended, as a label; always 1.",
                with_status, 1.0);
    if (one.status != Status::ok) continue;
    metrics.add("hiptool_bytes_per_second", "Median rate; bytes copied count once.", labels,
                one.bytes_per_s);
    metrics.add("hiptool_duration_seconds", "Median time of one sample.", labels, one.median_s);
    metrics.add("hiptool_flops_per_second", "Median rate of floating point operations.", labels,
                one.flops_per_s);
    metrics.add("hiptool_share_of_limit",
                "Rate as a share of the limit, 0 to 1, above 1 within its rounding.", labels,
                one.share_of_limit);
  }
}

}  // namespace

std::string to_prom(const Report& report) {
  const Run& run = report.run;
  const Labels labels{{"command", run.command}};
  Metrics metrics;
  metrics.add("hiptool_success", "1 if the run passed (exit code 0), else 0.", labels,
              run.passed ? 1.0 : 0.0);
  metrics.add("hiptool_exit_code", "Exit code of the run.", labels, run.exit_code);
  metrics.add("hiptool_run_info", "What ran; always 1.",
              {{"command", run.command}, {"status", run.status}, {"version", run.tool_version}},
              1.0);
  metrics.add("hiptool_start_time_seconds", "When the run started, since 1970.", labels,
              unix_time(run.started_at));
  if (run.command == "devices") add_devices(metrics, report.document);
  if (report.models.size() > 1) add_models(metrics, report.models);
  add_checks(metrics, report.checks);
  add_failures(metrics, report.run.failures);
  add_thresholds(metrics, report.thresholds);
  add_measurements(metrics, report.measurements);
  return metrics.text();
}

}  // namespace hiptool::report
