// SPDX-License-Identifier: MIT
// For those who follow benchmarks over time: Google Benchmark's tools, github-action-benchmark and
// Bencher.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/report.hpp"

namespace hiptool::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& tree) {
  return tree.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string why(const Measurement& one) {
  const std::string status(to_string(one.status));
  return one.reason.empty() ? status : status + ": " + one.reason;
}

Json google_entry(const Measurement& one, std::size_t family) {
  return {{"name", one.id},
          {"family_index", family},
          {"per_family_instance_index", 0},
          {"run_name", one.id}};
}

// No processor time is measured; readers of the format ask for the field.
void add_time(Json& entry, const Measurement& one, double time_s) {
  entry["real_time"] = time_s * 1e6;
  entry["cpu_time"] = time_s * 1e6;
  entry["time_unit"] = "us";
  if (one.bytes_per_s && one.median_s && time_s > 0) {
    entry["bytes_per_second"] = *one.bytes_per_s * *one.median_s / time_s;
  }
}

void add_google_entries(Json& list, const Measurement& one, std::size_t family) {
  Json entry = google_entry(one, family);
  entry["run_type"] = "iteration";
  entry["repetitions"] = one.samples_s.size();
  entry["threads"] = 1;
  entry["iterations"] = 1;
  if (one.status != Status::ok) {
    entry["repetition_index"] = 0;
    entry["error_occurred"] = true;
    entry["error_message"] = why(one);
    add_time(entry, one, 0);
    list.push_back(entry);
    return;
  }
  for (std::size_t i = 0; i < one.samples_s.size(); ++i) {
    entry["repetition_index"] = i;
    add_time(entry, one, one.samples_s[i]);
    list.push_back(entry);
  }
  if (!one.median_s) return;
  Json median = google_entry(one, family);
  median["name"] = one.id + "_median";
  median["run_type"] = "aggregate";
  median["repetitions"] = one.samples_s.size();
  median["threads"] = 1;
  median["aggregate_name"] = "median";
  median["aggregate_unit"] = "time";
  median["iterations"] = one.samples_s.size();
  add_time(median, one, *one.median_s);
  list.push_back(median);
}

// "bench-copy verdict"
std::string verdict_name(const Run& run) {
  return (run.command.empty() ? "hiptool" : run.command) + " verdict";
}

// From 1 to 0 raises the alert of "bigger is better", whatever the rates are.
Json verdict_entry(const Run& run) {
  std::string extra = run.passed ? "passed" : "failed, " + exit_text(run);
  for (const Failure& failure : run.failures) extra += "\n" + failure_text(failure);
  return {{"name", verdict_name(run)},
          {"unit", "passed"},
          {"value", run.passed ? 1 : 0},
          {"extra", extra}};
}

}  // namespace

std::string to_gbench(const Report& report) {
  const Run& run = report.run;
  Json tree;
  tree["context"] = {{"date", run.started_at},
                     {"host_name", run.host.name},
                     {"executable", "hiptool"},
                     {"num_cpus", run.host.cores.value_or(0)},
                     {"mhz_per_cpu", 0},
                     {"cpu_scaling_enabled", false},
                     {"caches", Json::array()},
                     {"library_build_type", "release"},
                     {"hiptool_version", run.tool_version},
                     {"hiptool_exit_code", run.exit_code ? Json(*run.exit_code) : Json()},
                     {"hiptool_passed", run.passed}};
  Json list = Json::array();
  std::size_t family = 0;
  for (const Measurement& one : report.measurements) add_google_entries(list, one, family++);
  tree["benchmarks"] = std::move(list);
  return dump(tree);
}

std::string to_gha(const Report& report) {
  Json list = Json::array({verdict_entry(report.run)});
  for (const Measurement& one : report.measurements) {
    const bool is_rate = one.bytes_per_s.has_value();
    const auto& number = is_rate ? one.bytes_per_s : one.flops_per_s;
    const char* unit = is_rate || !number ? "GB/s" : "GFLOP/s";
    if (one.has_failed()) {
      // A missing entry would pass unnoticed; zero raises the alert.
      list.push_back({{"name", one.id}, {"unit", unit}, {"value", 0}, {"extra", why(one)}});
    } else if (one.status == Status::ok && number) {
      Json entry{{"name", one.id}, {"unit", unit}, {"value", *number / 1e9}};
      if (is_rate && one.low_bytes_per_s && one.high_bytes_per_s) {
        const double half = std::abs(*one.high_bytes_per_s - *one.low_bytes_per_s) / 2;
        entry["range"] = "± " + Json(std::round(half * 1e-6) / 1e3).dump();
      }
      entry["extra"] = one.samples_s.empty()
                           ? one.label
                           : "median of " + base::plain_count_of(one.samples_s.size(), "sample");
      list.push_back(std::move(entry));
    }
  }
  return dump(list);
}

std::string to_bmf(const Report& report) {
  Json tree = Json::object();
  const int passed = report.run.passed ? 1 : 0;
  const std::string verdict = verdict_name(report.run);
  tree[verdict] = {{"passed", {{"value", passed}}}};
  // Not tree[id], which looks through all that are there; ids are unique.
  auto& list = tree.get_ref<Json::object_t&>();
  const auto add = [&](const std::string& id, const char* measure, Json values) {
    if (id != verdict) list.emplace_back(id, Json{{measure, std::move(values)}});
  };
  for (const Measurement& one : report.measurements) {
    if (one.status != Status::ok) continue;
    if (one.bytes_per_s) {
      Json measure{{"value", *one.bytes_per_s}};
      if (one.low_bytes_per_s) measure["lower_value"] = *one.low_bytes_per_s;
      if (one.high_bytes_per_s) measure["upper_value"] = *one.high_bytes_per_s;
      add(one.id, "bytes-per-second", std::move(measure));
    } else if (one.flops_per_s) {
      add(one.id, "operations-per-second", {{"value", *one.flops_per_s}});
    } else if (one.median_s) {
      add(one.id, "latency", {{"value", *one.median_s * 1e9}});  // in its nanoseconds
    }
  }
  return dump(tree);
}

}  // namespace hiptool::report
