// SPDX-License-Identifier: MIT
#include "cli/commands/report/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/statistics.hpp"
#include "hiptool/error.hpp"
#include "report/cells.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

using report::Measurement;

constexpr double least_deviation = 0.05;
constexpr double largest_z = 3.5;
constexpr std::size_t least_members_for_z = 5;

std::string name_of(const ReportFile& file, const std::string& device) {
  const std::string platform = report::platform_of(device);
  if (platform.empty()) return {};
  const std::string name = report::device_field(file.document, device, "name");
  return name.empty() ? platform : name;
}

// "NVIDIA H200", or "NVIDIA H200 and NVIDIA L4" where several took part.
std::string device_name_of(const ReportFile& file, const Measurement& measured) {
  std::set<std::string> names;
  for (const std::string& device : measured.devices) names.insert(name_of(file, device));
  return fmt::format("{}", fmt::join(names, " and "));
}

struct Figure {
  const char* unit;
  double value;
};

std::optional<Figure> figure_of(const Measurement& measured) {
  std::optional<Figure> figure;
  if (measured.bytes_per_s) {
    figure = {"bytes_per_s", *measured.bytes_per_s};
  } else if (measured.flops_per_s) {
    figure = {"flops_per_s", *measured.flops_per_s};
  } else if (measured.median_s && *measured.median_s > 0) {
    figure = {"s", *measured.median_s};
  }
  return figure && figure->value > 0 ? figure : std::nullopt;
}

std::vector<double> values_of(const std::vector<MergedMember>& members) {
  std::vector<double> values;
  for (const MergedMember& member : members) values.push_back(member.value);
  return values;
}

// The smaller median, so that among two cells a row with one slow link is no slow row.
double lower_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// How much worse than the group's median a device's row (or column) is as a whole, 0 if it is not
// slow.
template <class IsInLine>
double slowness(const MergedGroup& group, const MergedMember& member, IsInLine is_in_line) {
  std::vector<double> losses;
  for (const MergedMember& other : group.members) {
    if (other.file == member.file && is_in_line(*other.measured)) {
      losses.push_back(group.loss_of(other.value));
    }
  }
  if (losses.size() < 2) return 0;
  const double loss = lower_median(std::move(losses));
  return loss >= least_deviation ? loss : 0;
}

Blame blame_of(const MergedGroup& group, const MergedMember& member) {
  const Measurement& measured = *member.measured;
  const std::string host = host_of(*member.file);
  if (!measured.is_pair) {
    // One to all and all to one: the one. All to all: nobody in particular.
    for (const std::string& end : {measured.destination, measured.source}) {
      if (!report::platform_of(end).empty()) return {host, end, {}, {}};
    }
    return {host, {}, measured.source, measured.destination};
  }
  const double row = slowness(group, member, [&measured](const Measurement& other) {
    return other.source == measured.source;
  });
  const double column = slowness(group, member, [&measured](const Measurement& other) {
    return other.destination == measured.destination;
  });
  if (row == 0 && column == 0) return {host, {}, measured.source, measured.destination};
  return {host, row >= column ? measured.source : measured.destination, {}, {}};
}

void add_file(Merge& merge, const std::string& path, std::map<std::string, std::string>& seen) {
  try {
    ReportFile file = read_report_file(path);
    const auto [first, is_new] = seen.emplace(report::json_text(file.document), path);
    if (!is_new) {
      merge.skipped.push_back({path, "the same document as " + first->second});
    } else if (file.measured.empty()) {
      merge.skipped.push_back(
          {path, fmt::format("measured nothing ({}, status {})", file.kind.name, file.status)});
      if (!file.verdict.passed) merge.failed_runs.push_back(std::move(file));
    } else {
      merge.files.push_back(std::move(file));
    }
  } catch (const Error& error) {
    merge.skipped.push_back({path, error.what(), true});
  }
}

void group_measurements(Merge& merge) {
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (const ReportFile& file : merge.files) {
    for (const Measurement& measured : file.measured) {
      if (measured.status == "failed" || measured.status == "mismatch") {
        MergedMember failure{&file, &measured, 0, 0, 0, false, false, {}};
        failure.blame = blame_of({}, failure);
        merge.failures.push_back(std::move(failure));
      }
      const auto figure = figure_of(measured);
      if (measured.status != "ok" || !figure) continue;
      std::string name = device_name_of(file, measured);
      const auto [place, is_new] =
          places.emplace(std::tuple(measured.label, name, figure->unit), merge.groups.size());
      if (is_new) merge.groups.push_back({measured.label, std::move(name), figure->unit, 0, {}});
      merge.groups[place->second].members.push_back(
          {&file, &measured, figure->value, 0, 0, false, false, {}});
    }
  }
}

}  // namespace

bool Merge::has_common() const {
  return std::any_of(groups.begin(), groups.end(),
                     [](const MergedGroup& group) { return group.members.size() > 1; });
}

std::string host_of(const ReportFile& file) {
  const std::string name =
      report::text_of(report::member(report::member(file.document, "host"), "name"));
  return name.empty() ? file.path : name;
}

void find_stragglers(MergedGroup& group) {
  const std::vector<double> values = values_of(group.members);
  group.median = base::median(values);
  const std::vector<double> scores = base::modified_z_scores(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    MergedMember& member = group.members[i];
    member.deviation = member.value / group.median - 1;
    member.z = scores[i];
    const bool is_far = std::abs(member.deviation) >= least_deviation;
    const bool is_rare = values.size() < least_members_for_z || std::abs(member.z) > largest_z;
    member.is_straggler = group.can_tell() && is_far && is_rare;
    member.is_slow = member.is_straggler && group.loss_of(member.value) > 0;
  }
  for (MergedMember& member : group.members) {
    if (member.is_straggler) member.blame = blame_of(group, member);
  }
}

Merge merge_reports(const std::vector<std::string>& paths) {
  Merge merge;
  // Members point to files, which must not move any more once the first does.
  merge.files.reserve(paths.size());
  std::map<std::string, std::string> seen;
  for (const std::string& path : paths) add_file(merge, path, seen);
  if (merge.files.empty() && merge.failed_runs.empty()) {
    std::string message = "no file is left to merge";
    for (const SkippedFile& file : merge.skipped) {
      const bool is_named = file.reason.compare(0, file.path.size(), file.path) == 0;
      message += "\n" + (is_named ? "" : file.path + ": ") + file.reason;
    }
    throw Error(ErrorCode::input_failed, "report merge", message,
                "give documents of bench-copy, run-kernel or load");
  }
  group_measurements(merge);
  for (MergedGroup& group : merge.groups) find_stragglers(group);
  return merge;
}

}  // namespace hiptool::cli
