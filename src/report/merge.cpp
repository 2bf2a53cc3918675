// SPDX-License-Identifier: MIT
#include "report/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/sha256.hpp"
#include "base/statistics.hpp"
#include "hiptool/error.hpp"
#include "report/tree.hpp"

namespace hiptool::report {
namespace {

constexpr double least_deviation = 0.05;
constexpr double largest_z = 3.5;
constexpr std::size_t least_members_for_z = 5;

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

// How much worse than the group's median the rows and columns of devices are as a whole.
class SlowLines {
 public:
  SlowLines() = default;
  explicit SlowLines(const MergedGroup& group) {
    std::map<Line, std::vector<double>> rows;
    std::map<Line, std::vector<double>> columns;
    for (const MergedMember& member : group.members) {
      if (!member.measured->is_pair()) continue;
      const double loss = group.loss_of(member.value);
      rows[{member.file, member.measured->source}].push_back(loss);
      columns[{member.file, member.measured->destination}].push_back(loss);
    }
    rows_ = slow_ones(std::move(rows));
    columns_ = slow_ones(std::move(columns));
  }

  /// 0 if it is not slow.
  double row_of(const MergedMember& member) const {
    return find(rows_, {member.file, member.measured->source});
  }
  double column_of(const MergedMember& member) const {
    return find(columns_, {member.file, member.measured->destination});
  }

 private:
  using Line = std::pair<const RunFile*, std::string_view>;
  using Losses = std::map<Line, double>;

  static Losses slow_ones(std::map<Line, std::vector<double>> lines) {
    Losses slow;
    for (auto& [line, losses] : lines) {
      if (losses.size() < 2) continue;
      const double loss = lower_median(std::move(losses));
      if (loss >= least_deviation) slow.emplace(line, loss);
    }
    return slow;
  }
  static double find(const Losses& losses, const Line& line) {
    const auto found = losses.find(line);
    return found == losses.end() ? 0 : found->second;
  }

  Losses rows_;
  Losses columns_;
};

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
  const double row = slow.row_of(member);
  const double column = slow.column_of(member);
  if (row == 0 && column == 0) return {host, {}, measured.source, measured.destination};
  return {host, row >= column ? measured.source : measured.destination, {}, {}};
}

// Of names, values and their types, so that a copy with other blanks is a copy too. The text itself
// would be kept for each file.
class TreeDigest {
 public:
  std::string take() { return hash_.hex_digest(); }

  void add(const Object& members) {
    add_number(members.size());
    for (const auto& [name, value] : members) {
      add_text(name);
      add(value);
    }
  }

 private:
  void add(const Value& value) {
    add_number(value.data().index());
    std::visit(
        [this](const auto& data) {
          using Type = std::decay_t<decltype(data)>;
          if constexpr (std::is_same_v<Type, Object>) {
            add(data);
          } else if constexpr (std::is_same_v<Type, Array>) {
            add_number(data.size());
            for (const Value& element : data) add(element);
          } else if constexpr (std::is_same_v<Type, std::string>) {
            add_text(data);
          } else if constexpr (!std::is_same_v<Type, std::monostate>) {
            add_number(data);
          }
        },
        value.data());
  }
  void add_text(const std::string& text) {
    add_number(text.size());
    hash_.add(std::as_bytes(std::span(text)));
  }
  template <class Number>
  void add_number(Number number) {
    hash_.add(std::as_bytes(std::span(&number, 1)));
  }

  base::Sha256 hash_;
};

std::string digest_of(const Object& document) {
  TreeDigest digest;
  digest.add(document);
  return digest.take();
}

void add_file(Merge& merge, const std::string& path, Object document,
              std::map<std::string, std::string>& seen) {
  std::string digest = digest_of(document);
  RunFile file = run_file_of(std::move(document), path);
  // A merge looks at the medians alone, and the samples are most of a document. Assigning {} would
  // keep their memory.
  for (Measurement& measured : file.measurements) measured.samples_s = std::vector<double>();
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
    for (const Measurement& measured : file.measurements) {
      if (measured.has_failed()) {
        MergedMember failure{&file, &measured, 0, 0, 0, false, false, {}};
        failure.blame = blame_of(SlowLines(), failure);
        merge.failures.push_back(std::move(failure));
      }
      const auto figure = figure_of(measured);
      if (measured.status != Status::ok || !figure) continue;
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

std::string host_of(const RunFile& file) {
  return file.run.host.name.empty() ? file.path : file.run.host.name;
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
  const SlowLines slow(group);
  for (MergedMember& member : group.members) {
    if (member.is_straggler) member.blame = blame_of(slow, member);
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
      merge.skipped.push_back({path, error.what(), true});
    }
  }
  if (merge.files.empty() && merge.failed_runs.empty()) {
    std::string message = "no file is left to merge";
    for (const SkippedFile& file : merge.skipped) message += "\n" + file.text();
    throw Error(ErrorCode::input_failed, "report merge", message,
                "give documents of bench-copy, run-kernel or load");
  }
  group_measurements(merge);
  for (MergedGroup& group : merge.groups) find_stragglers(group);
  return merge;
}

}  // namespace hiptool::report
