// SPDX-License-Identifier: MIT
#include "report/measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "report/report.hpp"

namespace hiptool::report {
namespace {

constexpr std::array<std::string_view, 6> status_words{"ok",       "skipped",     "failed",
                                                       "mismatch", "interrupted", ""};

std::string last_part(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

// A name for each of several models, so that no two measurements have one id.
std::vector<std::string> model_names(const std::vector<LoadedModel>& loads) {
  std::map<std::string, std::set<std::string>> by_last_part;
  for (const LoadedModel& load : loads) by_last_part[last_part(load.path)].insert(load.path);
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  for (const LoadedModel& load : loads) {
    const std::string last = last_part(load.path);
    names.push_back(by_last_part[last].size() > 1 ? load.path : last);
    const int number = ++seen[load.path];
    if (number > 1) names.back() += "#" + std::to_string(number);
  }
  return names;
}

void add_load(const LoadedModel& figures, const std::string& name,
              std::vector<Measurement>& results) {
  const std::string& status = figures.status;
  Measurement load;
  load.kind = "load";
  load.id = load.label = load.series = "load." + name;
  load.status =
      status == "verified" || status == "loaded" || status == "decoded" || status == "proved"
          ? Status::ok
          : parse_status(status);
  load.size_bytes = figures.size_bytes;
  load.median_s = figures.load_time_s;
  load.bytes_per_s = figures.bytes_per_s;
  load.share_of_limit = figures.share_of_limit;
  load.share_reason = figures.share_reason;
  for (const auto& copied : figures.devices) {
    const bool is_known =
        std::find(load.devices.begin(), load.devices.end(), copied.device) != load.devices.end();
    if (!is_known && !platform_of(copied.device).empty()) load.devices.push_back(copied.device);
  }
  if (figures.devices.size() == 1) load.destination = figures.devices.front().device;
  if (load.bytes_per_s) results.push_back(load);
  for (const auto& copied : figures.devices) {
    Measurement copy = load;
    copy.kind = "load-copy";
    copy.destination = copied.device;
    copy.devices = {copied.device};
    copy.label = copy.series = "load-copy." + name;
    copy.id = copy.label + "." + copied.device;
    copy.size_bytes = copied.size_bytes;
    copy.median_s = copied.time_s;
    copy.bytes_per_s = copied.bytes_per_s;
    copy.share_of_limit.reset();
    copy.share_reason.clear();
    // Only bytes that arrived are computed with.
    if (status == "wrong") copy.status = Status::ok;
    if (copy.bytes_per_s) results.push_back(copy);
  }
}

}  // namespace

std::vector<double> process_medians(const Measurement& measured) {
  const std::span<const double> samples(measured.samples_s);
  if (samples.empty()) return {};
  if (measured.process_samples.empty()) return {base::median(samples)};
  std::vector<double> medians;
  std::size_t first = 0;
  for (const std::size_t count : measured.process_samples) {
    if (count > 0) medians.push_back(base::median(samples.subspan(first, count)));
    first += count;
  }
  return medians;
}

std::string_view to_string(Status status) noexcept {
  return status_words[static_cast<std::size_t>(status)];
}

std::string_view second_read_text(const WrongData& wrong) noexcept {
  return wrong.reread_agrees ? "a second read returned the same value"
                             : "a second read returned another value";
}

std::string wrong_text(const WrongData& wrong) {
  std::string text = fmt::format("{} wrong", base::count_of(wrong.count, "value"));
  if (wrong.first_index) text += fmt::format(", the first at {}", *wrong.first_index);
  if (wrong.xor_bits != 0) text += fmt::format(", bits 0x{:x}", wrong.xor_bits);
  return text;
}

std::string wrong_text(const Measurement& measured) {
  if (!measured.wrong) return measured.reason;
  const WrongData& wrong = *measured.wrong;
  std::string text = wrong_text(wrong);
  if (!wrong.expected.is_absent()) text += ", " + expected_text(wrong.expected, wrong.got);
  return measured.reason.empty() ? text : text + "; " + measured.reason;
}

std::string place_of(const Measurement& measured) {
  if (measured.is_pair()) return measured.source + ">" + measured.destination;
  return base::ranges_of(measured.devices);
}

Status parse_status(std::string_view text) noexcept {
  if (text == "wrong") return Status::mismatch;  // of a load: right bytes, wrong results
  const auto found = std::find(status_words.begin(), status_words.end(), text);
  if (found == status_words.end()) return Status::unknown;
  return static_cast<Status>(found - status_words.begin());
}

std::string_view to_string(base::Verdict verdict) noexcept {
  switch (verdict) {
    case base::Verdict::same: return "SAME";
    case base::Verdict::faster: return "FASTER";
    case base::Verdict::slower: return "SLOWER";
    case base::Verdict::ambiguous: break;
  }
  return "AMBIGUOUS";
}

std::string ThresholdResult::reason() const { return fmt::format("{}", fmt::join(missed, "; ")); }

std::string ThresholdResult::measured_text() const {
  if (measured_s) return format_value(measured_s, Unit::duration);
  return measured_bytes_per_s ? format_value(measured_bytes_per_s, Unit::rate) : "";
}

std::string ThresholdResult::bound_text() const {
  if (most_s) return "at most " + format_value(most_s, Unit::duration);
  return least_bytes_per_s ? "at least " + format_value(least_bytes_per_s, Unit::rate) : "";
}

Failure missed_by(const std::string& threshold, const std::string& id, Value expected, Value got) {
  return {threshold + " " + id,
          std::move(expected),
          std::move(got),
          FailureKind::threshold,
          {.measurement = id}};
}

std::vector<Failure> failures_of(const std::vector<ThresholdResult>& thresholds) {
  std::vector<Failure> failures;
  for (const ThresholdResult& one : thresholds) {
    failures.insert(failures.end(), one.failures.begin(), one.failures.end());
  }
  return failures;
}

std::string missed_text(const std::vector<ThresholdResult>& thresholds) {
  constexpr std::size_t most_named = 2;
  std::size_t missed = 0;
  std::string names;
  for (const ThresholdResult& one : thresholds) {
    if (one.is_met) continue;
    if (++missed <= most_named) names += (missed > 1 ? ", " : "") + one.missed.front();
  }
  if (missed == 0) return {};
  if (missed > most_named) names += fmt::format(" and {} more", missed - most_named);
  return fmt::format("{} of {} missed: {}", missed, base::count_of(thresholds.size(), "threshold"),
                     names);
}

std::string Comparison::shown(const Side& side) const {
  if (before.bytes_per_s && after.bytes_per_s) return format_value(side.bytes_per_s, Unit::rate);
  return format_value(side.median_s, Unit::duration);
}

std::string Comparison::change_text() const {
  const std::string change = signed_share(rate_change.value_or(times.change));
  return change.empty() ? change : (rate_change ? "rate " : "time ") + change;
}

bool Measurement::is_pair() const {
  return source != destination && !platform_of(source).empty() && !platform_of(destination).empty();
}

void Measurement::set_names() {
  if (const auto end = id.find('@'); end != std::string::npos && end > 0) {
    label = series = id.substr(0, end);
    const std::string size = "." + size_word(size_bytes);
    if (const auto place = series.find(size); place != std::string::npos) {
      series.erase(place, size.size());
    }
  }
  std::set<std::string> known(devices.begin(), devices.end());
  for (const std::string* list : {&source, &destination}) {
    for (std::size_t start = 0; start <= list->size();) {
      const std::size_t end = std::min(list->find(',', start), list->size());
      std::string device = list->substr(start, end - start);
      if (!platform_of(device).empty() && known.insert(device).second) {
        devices.push_back(std::move(device));
      }
      start = end + 1;
    }
  }
}

std::vector<Measurement> load_measurements(const std::vector<LoadedModel>& loads) {
  const std::vector<std::string> names = model_names(loads);
  std::vector<Measurement> results;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i].has_model) add_load(loads[i], names[i], results);
  }
  return results;
}

std::string size_word(std::uint64_t size_bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && size_bytes >= 1024 && size_bytes % 1024 == 0) {
    size_bytes /= 1024;
    ++unit;
  }
  return std::to_string(size_bytes) + std::string(units[unit]);
}

bool is_device_before(const std::string& left, const std::string& right) {
  const std::string left_platform = platform_of(left);
  const std::string right_platform = platform_of(right);
  if (left_platform != right_platform) return left_platform < right_platform;
  return left.size() != right.size() ? left.size() < right.size() : left < right;
}

std::string platform_of(const std::string& id) {
  for (const char* platform : {"amd", "nvidia", "cpu"}) {
    const std::string start = std::string(platform) + ":";
    if (id.size() == start.size() || id.compare(0, start.size(), start) != 0) continue;
    if (id.find_first_not_of("0123456789", start.size()) == std::string::npos) return platform;
  }
  return {};
}

}  // namespace hiptool::report
