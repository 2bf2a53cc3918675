// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy_baseline.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

using Json = nlohmann::json;

constexpr double same_link_within = 0.01;
constexpr const char* schema = "hiptool.bench-copy/1";

Json read_document(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorCode::input_failed, "open", "cannot read the baseline " + path,
                "write one with `hiptool bench-copy --export json=FILE`");
  }
  Json document = Json::parse(file, nullptr, false);
  if (!document.is_object() || document.value("schema", Json()) != schema) {
    throw Error(ErrorCode::corrupt_data, "parse", path + " is no document of " + schema,
                "write one with `hiptool bench-copy --export json=FILE`");
  }
  return document;
}

// What is not there is null, whatever stands above it.
const Json& at(const Json& value, std::initializer_list<const char*> path) {
  static const Json absent;
  const Json* found = &value;
  for (const char* key : path) {
    if (!found->is_object() || !found->contains(key)) return absent;
    found = &(*found)[key];
  }
  return *found;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::vector<double> samples_of(const Json& cell) {
  std::vector<double> samples;
  for (const Json& sample : at(cell, {"samples_s"})) {
    if (sample.is_number() && sample.get<double>() > 0) samples.push_back(sample.get<double>());
  }
  return samples;
}

std::optional<double> link_of(const measure::DeviceContext& context) {
  if (!context.during.link) return {};
  return context.during.link->bytes_per_s_now();
}

bool is_throttled(const measure::DeviceContext& context) {
  const auto& reasons = context.during.sensors.throttle_reasons;
  return reasons && !reasons->empty();
}

bool differ(const std::optional<double>& left, const std::optional<double>& right) {
  if (!left || !right) return false;
  return std::abs(*left - *right) > same_link_within * *left;
}

}  // namespace

Baseline::Baseline(const std::string& path) : path_(path) {
  const Json document = read_document(path);
  for (const Json& cell : at(document, {"cells"})) {
    std::vector<double> samples = samples_of(cell);
    if (text_of(at(cell, {"status"})) != "ok" || samples.empty()) continue;
    samples_s_[text_of(at(cell, {"id"}))] = std::move(samples);
  }
  for (const Json& device : at(document, {"context", "devices"})) {
    DeviceFacts facts;
    facts.name = text_of(at(device, {"name"}));
    const Json& link = at(device, {"during", "link", "bytes_per_s"});
    if (link.is_number()) facts.link_bytes_per_s = link.get<double>();
    facts.is_throttled = !at(device, {"during", "throttle"}).empty();
    devices_[text_of(at(device, {"id"}))] = std::move(facts);
  }
}

std::string Baseline::doubt_of(const measure::CopyCell& cell,
                               const BenchCopyOutcome& outcome) const {
  for (const measure::DeviceContext& context : outcome.contexts) {
    const std::string id = context.device.id();
    const bool is_used = std::any_of(cell.devices.begin(), cell.devices.end(),
                                     [&](const Device& device) { return device.id() == id; });
    const auto before = devices_.find(id);
    if (!is_used || before == devices_.end()) continue;
    if (before->second.name != context.info.name) return id + " is another device";
    if (differ(before->second.link_bytes_per_s, link_of(context))) {
      return "the link of " + id + " differs";
    }
    if (before->second.is_throttled != is_throttled(context)) {
      return "clocks of " + id + " were held down in one of the runs";
    }
  }
  return {};
}

std::vector<BaselineComparison> Baseline::compare(const BenchCopyOutcome& outcome) const {
  std::vector<BaselineComparison> comparisons;
  for (const measure::CopyResult& result : outcome.results) {
    const std::string id = measure::id_of(result.cell);
    const auto before = samples_s_.find(id);
    if (before == samples_s_.end() || result.status != measure::CopyStatus::ok) continue;
    BaselineComparison compared{id, base::compare_times(before->second, result.samples_s),
                                doubt_of(result.cell, outcome)};
    if (!compared.doubt.empty()) compared.comparison.verdict = base::Verdict::ambiguous;
    comparisons.push_back(std::move(compared));
  }
  if (comparisons.empty()) {
    throw Error(ErrorCode::invalid_argument, "compare",
                path_ + " has no cell that was measured now",
                "measure the same kinds, sizes and devices as then");
  }
  return comparisons;
}

}  // namespace hiptool::cli
