// SPDX-License-Identifier: MIT
#include "report/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/sha256.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "report/text.hpp"
#include "report/tree.hpp"

namespace hiptool::report {
namespace {

std::string name_of(const RunFile& file, const std::string& device) {
  const std::string platform = platform_of(device);
  if (platform.empty()) return {};
  const std::string& name = texts_of(file.devices, device).name;
  return name.empty() ? platform : name;
}

// "NVIDIA H200", or "NVIDIA H200 and NVIDIA L4" where several took part.
std::string device_name_of(const RunFile& file, const Measurement& measured) {
  std::set<std::string> names;
  for (const std::string& device : measured.devices) names.insert(name_of(file, device));
  return and_list({names.begin(), names.end()});
}

// The smaller median, so that one slow link does not make a row of two measurements slow.
double lower_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

using RunDevice = std::pair<const RunFile*, std::string_view>;
using Losses = std::map<RunDevice, double>;

// How much worse than the group's median the rows and columns of devices are as a whole, for those
// that are slow.
struct SlowLines {
  Losses rows;
  Losses columns;
};

Losses slow_ones(std::map<RunDevice, std::vector<double>> lines) {
  Losses slow;
  for (auto& [line, losses] : lines) {
    if (losses.size() < 2) continue;
    const double loss = lower_median(std::move(losses));
    if (loss >= steady_spread) slow.emplace(line, loss);
  }
  return slow;
}

SlowLines slow_lines_of(const MergedGroup& group) {
  std::map<RunDevice, std::vector<double>> rows;
  std::map<RunDevice, std::vector<double>> columns;
  for (const MergedMember& member : group.members) {
    if (!member.measured->is_pair()) continue;
    const double loss = group.loss_of(member.value);
    rows[{member.file, member.measured->source}].push_back(loss);
    columns[{member.file, member.measured->destination}].push_back(loss);
  }
  return {slow_ones(std::move(rows)), slow_ones(std::move(columns))};
}

// 0 where the line is not slow.
double loss_in(const Losses& losses, const RunFile* file, const std::string& device) {
  const auto found = losses.find({file, device});
  return found == losses.end() ? 0 : found->second;
}

Blame blame_of(const SlowLines& slow, const MergedMember& member) {
  const Measurement& measured = *member.measured;
  const std::string host = host_of(*member.file);
  if (!measured.is_pair()) {
    // One to all and all to one: the one. All to all: nobody in particular.
    for (const std::string& end : {measured.destination, measured.source}) {
      if (!platform_of(end).empty()) return {host, end, {}, {}};
    }
    return {host, {}, measured.source, measured.destination};
  }
  const double row = loss_in(slow.rows, member.file, measured.source);
  const double column = loss_in(slow.columns, member.file, measured.destination);
  if (row == 0 && column == 0) return {host, {}, measured.source, measured.destination};
  return {host, row >= column ? measured.source : measured.destination, {}, {}};
}

template <class Number>
void add_number(base::Sha256& hash, Number number) {
  hash.add(std::as_bytes(std::span(&number, 1)));
}

void add_text(base::Sha256& hash, const std::string& text) {
  add_number(hash, text.size());
  hash.add(std::as_bytes(std::span(text)));
}

void add_members(base::Sha256& hash, const Object& members);

void add_value(base::Sha256& hash, const Value& value) {
  add_number(hash, value.data().index());
  std::visit(
      [&hash](const auto& data) {
        using Type = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Type, Object>) {
          add_members(hash, data);
        } else if constexpr (std::is_same_v<Type, Array>) {
          add_number(hash, data.size());
          for (const Value& element : data) add_value(hash, element);
        } else if constexpr (std::is_same_v<Type, std::string>) {
          add_text(hash, data);
        } else if constexpr (!std::is_same_v<Type, std::monostate>) {
          add_number(hash, data);
        }
      },
      value.data());
}

void add_members(base::Sha256& hash, const Object& members) {
  add_number(hash, members.size());
  for (const auto& [name, value] : members) {
    add_text(hash, name);
    add_value(hash, value);
  }
}

// Of names, values and their types, so that a copy with other white space is a copy too. A digest,
// because the text would have to be kept for each file.
std::string digest_of(const Object& document) {
  base::Sha256 hash;
  add_members(hash, document);
  return hash.hex_digest();
}

double best_over_median(const std::vector<double>& samples_s) {
  constexpr double fastest_share = 0.05;
  const double best_s = samples_s.empty() ? 0 : base::quantile(samples_s, fastest_share);
  return best_s > 0 ? base::median(samples_s) / best_s : 1;
}

constexpr const char* mergeable_hint =
    "give documents of check, bench-copy, run-kernel, load or prove";

/// Throws Error(input_failed) for the document of a command that never measures.
void require_mergeable(const std::string& kind, const std::string& path) {
  constexpr std::array<std::string_view, 5> kinds{"check", "bench-copy", "run-kernel", "load",
                                                  "prove"};
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  throw Error(ErrorCode::input_failed, "merge",
              fmt::format("{}: a document of `{}` (hiptool.{}), which holds no measurements", path,
                          kind, kind),
              mergeable_hint);
}

void add_file(Merge& merge, const std::string& path, Object document,
              std::map<std::string, std::string>& seen) {
  require_mergeable(kind_of(document).name, path);
  std::string digest = digest_of(document);
  RunFile file = run_file_of(std::move(document), path);
  // A merge looks at the medians alone, and the samples are most of a document. Assigning {} would
  // keep their memory.
  for (Measurement& measured : file.measurements) {
    file.best_over_median.push_back(best_over_median(measured.samples_s));
    measured.samples_s = std::vector<double>();
  }
  const auto [first, is_new] = seen.emplace(std::move(digest), path);
  if (!is_new) {
    merge.skipped.push_back({path, "the same document as " + first->second});
  } else if (file.measurements.empty()) {
    merge.skipped.push_back(
        {path, fmt::format("measured nothing ({}, status {})", file.run.command, file.run.status)});
    if (!file.run.passed) merge.failed_runs.push_back(std::move(file));
  } else {
    merge.files.push_back(std::move(file));
  }
}

void group_measurements(Merge& merge) {
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (const RunFile& file : merge.files) {
    for (std::size_t i = 0; i < file.measurements.size(); ++i) {
      const Measurement& measured = file.measurements[i];
      if (measured.has_failed()) {
        MergedMember failure{&file, &measured};
        failure.blame = blame_of({}, failure);
        merge.failures.push_back(std::move(failure));
      }
      const auto figure = figure_of(measured);
      if (measured.status != Status::ok || !figure) continue;
      std::string name = device_name_of(file, measured);
      const auto [place, is_new] =
          places.emplace(std::tuple(measured.label, name, figure->unit), merge.groups.size());
      if (is_new) merge.groups.push_back({measured.label, std::move(name), figure->unit, 0, {}});
      MergedMember& member =
          merge.groups[place->second].members.emplace_back(MergedMember{&file, &measured});
      member.value = figure->value;
      member.best_over_median = file.best_over_median[i];
    }
  }
}

// Hosts in natural order, each with its runs from the first to the last.
bool is_run_before(const RunFile& left, const RunFile& right) {
  const std::string left_host = host_of(left);
  const std::string right_host = host_of(right);
  if (left_host != right_host) return base::is_natural_before(left_host, right_host);
  return left.run.started_at < right.run.started_at;
}

}  // namespace

std::optional<MergedFigure> figure_of(const Measurement& measured) {
  std::optional<MergedFigure> figure;
  if (measured.bytes_per_s) {
    figure = {"bytes_per_s", *measured.bytes_per_s};
  } else if (measured.flops_per_s) {
    figure = {"flops_per_s", *measured.flops_per_s};
  } else if (measured.median_s && *measured.median_s > 0) {
    figure = {"s", *measured.median_s};
  }
  return figure && figure->value > 0 ? figure : std::nullopt;
}

bool Merge::has_common() const {
  return std::any_of(groups.begin(), groups.end(),
                     [](const MergedGroup& group) { return group.members.size() > 1; });
}

double MergedGroup::spread() const {
  double spread = steady_spread;
  for (const MergedMember& member : members) {
    spread = std::max(spread, run_spread(*member.measured));
  }
  return spread;
}

std::string host_of(const RunFile& file) {
  return file.run.host.name.empty() ? file.path : file.run.host.name;
}

void find_stragglers(MergedGroup& group) {
  std::vector<double> values;
  std::vector<double> speeds;
  std::vector<double> best_speeds;
  for (const MergedMember& member : group.members) {
    values.push_back(member.value);
    speeds.push_back(group.is_time() ? 1 / member.value : member.value);
    best_speeds.push_back(speeds.back() * member.best_over_median);
  }
  group.median = base::median(values);
  const std::vector<double> scores = base::modified_z_scores(values);
  const auto slow = base::find_slow(speeds, best_speeds, group.spread());
  for (std::size_t i = 0; i < values.size(); ++i) {
    MergedMember& member = group.members[i];
    member.deviation = member.value / group.median - 1;
    member.z = scores[i];
    member.is_slow = group.can_tell() && slow[i].has_value();
  }
  const SlowLines lines = slow_lines_of(group);
  for (MergedMember& member : group.members) {
    if (member.is_slow) member.blame = blame_of(lines, member);
  }
}

Merge merge_runs(const std::vector<std::string>& paths,
                 const std::function<Object(const std::string&)>& read) {
  Merge merge;
  // Members point to files, which must not move any more once the first does.
  merge.files.reserve(paths.size());
  std::map<std::string, std::string> seen;
  for (const std::string& path : paths) {
    try {
      add_file(merge, path, read(path), seen);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      merge.skipped.push_back({path, error.what(), true, error.hint()});
    }
  }
  if (merge.files.empty() && merge.failed_runs.empty()) {
    std::string message = "no file is left to merge";
    for (const SkippedFile& file : merge.skipped) message += "\n" + file.text();
    throw Error(ErrorCode::input_failed, "report merge", message, merge.hint_or(mergeable_hint));
  }
  std::stable_sort(merge.files.begin(), merge.files.end(), is_run_before);
  std::stable_sort(merge.failed_runs.begin(), merge.failed_runs.end(), is_run_before);
  group_measurements(merge);
  for (MergedGroup& group : merge.groups) find_stragglers(group);
  return merge;
}

}  // namespace hiptool::report
