// SPDX-License-Identifier: MIT
#include "accept/expectations.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "measure/copy/spec.hpp"
#include "measure/kernel_bench.hpp"
#include "measure/library/compute.hpp"
#include "report/report.hpp"

namespace hiptool::accept {
namespace {

using report::elements;
using report::member;
using report::Object;
using report::Value;

constexpr std::uint64_t most_expectation_bytes = 4u << 20;
constexpr const char* expect_schema = "hiptool.expect/1";

// Nothing in a damaged file says that it has expectations, so only --force replaces it.
std::string rewrite_hint(const std::string& path) {
  return "check that the path names a file of expectations; if it does, write the file again on a "
         "good machine: `hiptool check --write-expect " +
         base::quoted_for_shell(path) + " --force`";
}

[[noreturn]] void refuse_expectation(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::input_failed, "read expectations", path + ": " + what, rewrite_hint(path));
}

// "matmul.f16.1024x1024x1024.cublas": the last word is the library.
bool is_library_name(const std::string& label) {
  const std::string first = label.substr(0, label.find('.'));
  for (const measure::ProblemKind kind :
       {measure::ProblemKind::matmul, measure::ProblemKind::conv2d}) {
    if (first != to_string(kind)) continue;
    const std::vector<std::string> names = measure::implementations_of(kind);
    const std::string last = label.substr(label.find_last_of('.') + 1);
    return measure::is_library(last) && std::find(names.begin(), names.end(), last) != names.end();
  }
  return false;
}

// The first word of the labels of measurements that some level makes.
bool is_measurement_name(const std::string& label) {
  if (is_library_name(label) || label.starts_with("soak.")) return true;
  const std::string first = label.substr(0, label.find('.'));
  if (measure::parse_copy_kind(first)) return true;
  const std::vector<measure::KernelFamily> families = measure::list_kernels();
  return std::any_of(families.begin(), families.end(), [&](const measure::KernelFamily& family) {
    return family.name == first && !family.is_operation;
  });
}

Expectation read_expectation(const Value& value, const std::string& path,
                             const std::string& where) {
  Expectation expectation;
  std::size_t figures = 0;
  for (const auto& [name, target] : {std::pair("bytes_per_s", &expectation.bytes_per_s),
                                     std::pair("flops_per_s", &expectation.flops_per_s),
                                     std::pair("most_s", &expectation.most_s)}) {
    const Value& figure = member(value, name);
    if (figure.is_absent()) continue;
    *target = report::number_of(figure);
    if (!*target || **target <= 0) {
      refuse_expectation(path, where + ": " + name + " is not a number above 0");
    }
    ++figures;
  }
  if (figures != 1) {
    refuse_expectation(path, where + ": expected one of bytes_per_s, flops_per_s and most_s");
  }
  const Value& devices = member(value, "devices");
  if (!devices.is_absent()) {
    const auto count = report::count_of(devices);
    if (!count || *count == 0)
      refuse_expectation(path, where + ": devices is not a number from 1 on");
    expectation.devices = *count;
  }
  const Value& spread = member(value, "spread");
  if (!spread.is_absent()) {
    const auto share = report::number_of(spread);
    if (!share || *share < 0 || *share > 1)
      refuse_expectation(path, where + ": spread is not a number from 0 to 1");
    expectation.spread = *share;
  }
  return expectation;
}

GpuCounts read_machine(const Value& value, const Expectations& expectations) {
  const auto* const kinds = std::get_if<Object>(&value.data());
  if (kinds == nullptr || kinds->empty()) {
    refuse_expectation(expectations.path, "machines has an entry without a kind of GPU");
  }
  GpuCounts counts;
  for (const auto& [kind, count] : *kinds) {
    if (expectations.of_kind.count(kind) == 0) {
      refuse_expectation(expectations.path,
                         "machines names '" + kind + "', which gpus does not have");
    }
    const auto number = report::count_of(count);
    if (!number || *number == 0) {
      refuse_expectation(expectations.path,
                         "machines, " + kind + ": not a number of GPUs from 1 on");
    }
    counts[kind] = static_cast<std::size_t>(*number);
  }
  return counts;
}

// The lower of two expectations.
void lower(Expectation& expectation, const Expectation& other) {
  const auto least = [](std::optional<double>& own, const std::optional<double>& one) {
    if (own && one) own = std::min(*own, *one);
  };
  least(expectation.bytes_per_s, other.bytes_per_s);
  least(expectation.flops_per_s, other.flops_per_s);
  if (expectation.most_s && other.most_s)
    expectation.most_s = std::max(*expectation.most_s, *other.most_s);
}

Expectation expectation_of(const report::Measurement& measured, double margin) {
  margin = report::run_spread(measured, margin);
  Expectation expectation;
  expectation.devices = std::max<std::size_t>(measured.devices.size(), 1);
  if (measured.bytes_per_s) {
    expectation.bytes_per_s = *measured.bytes_per_s * (1 - margin);
  } else if (measured.flops_per_s) {
    expectation.flops_per_s = *measured.flops_per_s * (1 - margin);
  } else {
    expectation.most_s = *measured.median_s * (1 + margin);
  }
  return expectation;
}

/// By the kind of GPU and the label: how far the slowest repeat of a device is below its fastest;
/// of several devices the largest.
std::map<std::pair<std::string, std::string>, double> spreads_of(
    const std::vector<RatedMeasurement>& measurements) {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>>
      of_one;  // by kind and id
  std::map<std::pair<std::string, std::string>, double> spreads;
  for (const RatedMeasurement& rated : measurements) {
    const auto speed = speed_of(*rated.measured);
    if (!speed) continue;
    const auto [place, is_new] =
        of_one.try_emplace({rated.key, rated.measured->id}, *speed, *speed);
    auto& [least, most] = place->second;
    least = std::min(least, *speed);
    most = std::max(most, *speed);
    double& spread = spreads[{rated.key, rated.measured->label}];
    spread = std::max(spread, 1 - least / most);
  }
  return spreads;
}

// Digits after the point only get in the way of people who edit the file.
Value rate_value(double rate) {
  constexpr double most_exact = 0x1p53;
  return rate >= 1 && rate < most_exact ? Value(static_cast<std::uint64_t>(rate)) : Value(rate);
}

Object expectation_value(const Expectation& expectation) {
  Object fields;
  if (expectation.bytes_per_s)
    fields.emplace_back("bytes_per_s", rate_value(*expectation.bytes_per_s));
  if (expectation.flops_per_s)
    fields.emplace_back("flops_per_s", rate_value(*expectation.flops_per_s));
  if (expectation.most_s) fields.emplace_back("most_s", *expectation.most_s);
  fields.emplace_back("devices", std::uint64_t{expectation.devices});
  if (expectation.spread > 0) fields.emplace_back("spread", expectation.spread);
  return fields;
}

}  // namespace

std::string expectation_key(const report::Measurement& measured,
                            const std::function<std::string(const std::string&)>& name_of) {
  std::set<std::string> names;
  for (const std::string& id : measured.devices) names.insert(name_of(id));
  if (names.size() > 1 && measured.is_pair()) {
    return name_of(measured.source) + " > " + name_of(measured.destination);
  }
  std::string key;
  for (const std::string& name : names) key += (key.empty() ? "" : " + ") + name;
  return key;
}

const std::map<std::string, Expectation>* Expectations::find(const std::string& key) const {
  const auto found = of_kind.find(key);
  return found == of_kind.end() ? nullptr : &found->second;
}

const std::map<std::string, Expectation>& Expectations::of(const std::string& device_name) const {
  if (const auto* found = find(device_name)) return *found;
  std::string names;
  for (const auto& [name, expectations] : of_kind) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::invalid_argument, "read expectations",
              path + " expects nothing of " + device_name + "; it has " + names,
              "write another file on a good machine that has it: `hiptool check --write-expect "
              "FILE`; or leave its devices out with --device");
}

Expectations read_expectations(const std::filesystem::path& path, const CancelToken* cancel) {
  const std::string name = path.string();
  const Value document = report::parse_json(
      base::read_input_file(path, most_expectation_bytes, cancel), name, rewrite_hint(name));
  if (report::text_of(member(document, "schema")) != expect_schema) {
    refuse_expectation(name, "its schema is not " + std::string(expect_schema));
  }
  Expectations expectations;
  expectations.path = name;
  expectations.level = report::text_of(member(document, "level"));
  const auto* const kinds = std::get_if<Object>(&member(document, "gpus").data());
  if (kinds == nullptr || kinds->empty()) refuse_expectation(name, "gpus has no kind of GPU");
  for (const auto& [kind, measurements] : *kinds) {
    auto& of_one = expectations.of_kind[kind];
    const auto* const list = std::get_if<Object>(&measurements.data());
    if (list == nullptr || list->empty()) refuse_expectation(name, kind + " has no measurement");
    for (const auto& [label, value] : *list) {
      if (!is_measurement_name(label)) {
        refuse_expectation(name, kind + ": check makes no measurement '" + label + "'");
      }
      of_one[label] = read_expectation(value, name, kind + ", " + label);
    }
  }
  const Value& machines = member(document, "machines");
  const bool is_list = std::holds_alternative<report::Array>(machines.data());
  if (!machines.is_absent() && (!is_list || elements(machines).empty())) {
    refuse_expectation(name, "machines is not a list of machines, such as [{\"NVIDIA H200\": 8}]");
  }
  for (const Value& machine : elements(machines)) {
    expectations.machines.push_back(read_machine(machine, expectations));
  }
  return expectations;
}

std::vector<CountedGpus> compare_counts(const Expectations& expectations, const GpuCounts& found) {
  std::vector<CountedGpus> nearest;
  std::size_t least_missing = 0;
  bool is_nearest_related = false;
  for (const GpuCounts& machine : expectations.machines) {
    std::vector<CountedGpus> compared;
    std::size_t missing = 0;
    bool is_related = false;  // has a kind of GPU that is here
    for (const auto& [kind, expected] : machine) {
      const auto here = found.find(kind);
      const std::size_t count = here == found.end() ? 0 : here->second;
      compared.push_back({kind, expected, count});
      missing += expected > count ? expected - count : 0;
      is_related = is_related || count > 0;
    }
    if (missing == 0) return compared;
    const bool is_nearer = is_related == is_nearest_related ? missing < least_missing : is_related;
    if (!nearest.empty() && !is_nearer) continue;
    nearest = std::move(compared);
    least_missing = missing;
    is_nearest_related = is_related;
  }
  return nearest;
}

std::string expectations_text(const std::vector<RatedMeasurement>& measurements,
                              const GpuCounts& machine, const ExpectationHead& head) {
  const auto spreads = spreads_of(measurements);
  std::map<std::string, std::map<std::string, Expectation>> of_kind;
  for (const RatedMeasurement& rated : measurements) {
    if (!speed_of(*rated.measured)) continue;
    const std::string& label = rated.measured->label;
    const double spread = head.repeats > 1 ? spreads.at({rated.key, label}) : 0;
    Expectation expectation = expectation_of(*rated.measured, std::max(head.margin, spread));
    expectation.spread = spread;
    const auto [place, is_new] = of_kind[rated.key].emplace(label, expectation);
    if (!is_new) lower(place->second, expectation);
  }
  Object kinds;
  for (const auto& [kind, expectations] : of_kind) {
    Object values;
    for (const auto& [label, expectation] : expectations)
      values.emplace_back(label, expectation_value(expectation));
    kinds.emplace_back(kind, std::move(values));
  }
  report::Report report;
  report.document = {{"schema", expect_schema},
                     {"level", head.level},
                     {"margin", head.margin},
                     {"repeats", std::uint64_t{head.repeats}},
                     {"written_at", head.written_at}};
  if (!machine.empty()) {
    Object counts;
    for (const auto& [kind, count] : machine) counts.emplace_back(kind, std::uint64_t{count});
    report.document.emplace_back("machines", report::Array{std::move(counts)});
  }
  report.document.emplace_back("gpus", std::move(kinds));
  return to_json(report);
}

std::string stage_of_label(const std::string& label) {
  if (measure::parse_copy_kind(label.substr(0, label.find('.')))) return "copy";
  if (is_library_name(label)) return "libraries";
  if (label.starts_with("soak.")) return "soak";
  return label.starts_with("memtest-") ? "memory" : "kernels";
}

bool is_for(const std::string& label, const report::Measurement& measured) {
  constexpr std::uint64_t size_bytes = std::uint64_t{256} << 20;
  const bool is_copy = measured.stage == "copy" && measured.size_bytes == size_bytes;
  return label == measured.label || (is_copy && label == measured.series + ".64MiB");
}

bool is_comparable(const Expectation& expectation, const report::Measurement& measured) {
  if (expectation.bytes_per_s) return measured.bytes_per_s.has_value();
  if (expectation.flops_per_s) return measured.flops_per_s.has_value();
  return measured.median_s.has_value();
}

bool meets(const Expectation& expectation, const report::Measurement& measured) {
  if (expectation.bytes_per_s) return *measured.bytes_per_s >= *expectation.bytes_per_s;
  if (expectation.flops_per_s) return *measured.flops_per_s >= *expectation.flops_per_s;
  return *measured.median_s <= *expectation.most_s;
}

double shortfall_of(const Expectation& expectation, const report::Measurement& measured) {
  const auto below = [](double rate, double least) {
    return std::clamp(1 - rate / least, 0.0, 1.0);
  };
  if (expectation.bytes_per_s) return below(*measured.bytes_per_s, *expectation.bytes_per_s);
  if (expectation.flops_per_s) return below(*measured.flops_per_s, *expectation.flops_per_s);
  if (*measured.median_s <= 0) return 1;
  return std::clamp(1 - *expectation.most_s / *measured.median_s, 0.0, 1.0);
}

std::string figure_text(const report::Measurement& measured) {
  if (measured.bytes_per_s) return format_rate(*measured.bytes_per_s);
  if (measured.flops_per_s) {
    return report::format_value(*measured.flops_per_s, report::Unit::operations);
  }
  return measured.median_s ? format_duration(*measured.median_s) : std::string();
}

std::string figure_text(const Expectation& expectation) {
  report::Measurement measured;
  measured.bytes_per_s = expectation.bytes_per_s;
  measured.flops_per_s = expectation.flops_per_s;
  measured.median_s = expectation.most_s;
  return figure_text(measured);
}

std::optional<double> speed_of(const report::Measurement& measured) {
  if (measured.status != report::Status::ok) return {};
  if (measured.bytes_per_s) return measured.bytes_per_s;
  if (measured.flops_per_s) return measured.flops_per_s;
  if (measured.median_s && *measured.median_s > 0) return 1 / *measured.median_s;
  return {};
}

}  // namespace hiptool::accept
