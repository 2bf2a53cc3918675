// SPDX-License-Identifier: MIT
// What many runs have in common: the same finding on many hosts, and one host over time.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "report/merge.hpp"

namespace hiptool::report {
namespace {

// The runs of both lists.
std::vector<const RunFile*> runs_of(const Merge& merge) {
  std::vector<const RunFile*> runs;
  for (const auto* list : {&merge.files, &merge.failed_runs}) {
    for (const RunFile& file : *list) runs.push_back(&file);
  }
  return runs;
}

// The same for the same finding on the same place, whatever the figures are.
using FindingKey = std::array<std::string, 5>;

FindingKey key_of(const RunFile& file, const Failure& failure) {
  const Subject& about = failure.subject;
  const bool has_place = !about.device.empty() || !about.stage.empty();
  return {file.run.command, failure.code, has_place ? about.device + " " + about.stage : "",
          about.measurement, has_place ? "" : failure.what};
}

struct Dated {
  std::string at;
  double value;
  double spread;
};

std::optional<Trend> trend_of(std::vector<Dated> values) {
  std::stable_sort(values.begin(), values.end(),
                   [](const Dated& left, const Dated& right) { return left.at < right.at; });
  if (values.size() < 2 || values.front().at == values.back().at) return {};
  Trend trend;
  trend.runs = values.size();
  trend.first_at = values.front().at;
  trend.last_at = values.back().at;
  trend.last = values.back().value;
  std::vector<double> earlier;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) earlier.push_back(values[i].value);
  trend.usual = base::median(earlier);
  trend.change = trend.last / trend.usual - 1;
  for (const Dated& one : values) trend.spread = std::max(trend.spread, one.spread);
  return trend;
}

double loss_of(const Trend& trend) {
  return trend.is_time() ? 1 - trend.usual / trend.last : 1 - trend.last / trend.usual;
}

}  // namespace

double Trend::difference() const {
  const auto [least, most] = std::minmax(usual, last);
  return 1 - least / most;
}

std::vector<SharedFinding> Merge::shared_findings() const {
  std::map<std::string, std::set<std::string>> hosts_by_command;
  std::map<FindingKey, std::size_t> places;
  std::vector<SharedFinding> list;
  std::vector<std::string> commands;
  for (const RunFile* file : runs_of(*this)) {
    hosts_by_command[file->run.command].insert(host_of(*file));
    if (file->run.passed) continue;
    for (const Failure& failure : file->run.failures) {
      const auto [place, is_new] = places.emplace(key_of(*file, failure), list.size());
      if (is_new) {
        list.push_back({failure, {}, false});
        commands.push_back(file->run.command);
      }
      list[place->second].hosts.push_back(host_of(*file));
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto& hosts = list[i].hosts;
    std::sort(hosts.begin(), hosts.end(), base::is_natural_before);
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    list[i].is_on_all = hosts.size() == hosts_by_command[commands[i]].size();
  }
  std::erase_if(list, [](const SharedFinding& one) { return one.hosts.size() < 2; });
  std::stable_sort(list.begin(), list.end(), [](const auto& left, const auto& right) {
    return left.hosts.size() > right.hosts.size();
  });
  return list;
}

std::vector<Trend> Merge::trends() const {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<Dated>> values;
  std::map<std::string, std::size_t> runs;
  for (const RunFile& file : files) ++runs[host_of(file)];
  for (const RunFile& file : files) {
    if (file.run.started_at.empty() || runs[host_of(file)] < 2) continue;
    for (const Measurement& measured : file.measurements) {
      const auto figure = figure_of(measured);
      if (measured.status != Status::ok || !figure) continue;
      values[{host_of(file), measured.id, figure->unit}].push_back(
          {file.run.started_at, figure->value, run_spread(measured)});
    }
  }
  std::vector<Trend> list;
  for (auto& [key, dated] : values) {
    std::optional<Trend> trend = trend_of(std::move(dated));
    if (!trend) continue;
    std::tie(trend->host, trend->id, trend->unit) = key;
    list.push_back(std::move(*trend));
  }
  std::stable_sort(list.begin(), list.end(), [](const Trend& left, const Trend& right) {
    return loss_of(left) > loss_of(right);
  });
  return list;
}

}  // namespace hiptool::report
