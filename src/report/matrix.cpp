// SPDX-License-Identifier: MIT
#include "report/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace hiptool::report {
namespace {

constexpr std::size_t most_places = 4;  // for each measurement

using Names = std::set<std::string, decltype(&is_device_before)>;
using Pairs = std::vector<const Measurement*>;

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(
      std::lower_bound(names.begin(), names.end(), name, is_device_before) - names.begin());
}

Matrix matrix_of(const Pairs& pairs, const Names& sources, const Names& destinations) {
  Matrix matrix;
  matrix.label = pairs.front()->label;
  const bool has_latency = std::any_of(pairs.begin(), pairs.end(), [](const Measurement* one) {
    return one->status == Status::ok && !one->bytes_per_s && one->median_s;
  });
  matrix.title = matrix.label + ": from row to column, " + (has_latency ? "us" : "GB/s");
  matrix.sources.assign(sources.begin(), sources.end());
  matrix.destinations.assign(destinations.begin(), destinations.end());
  matrix.bytes_per_s.resize(sources.size());
  for (auto& row : matrix.bytes_per_s) row.resize(destinations.size());
  if (has_latency) matrix.latency_s = matrix.bytes_per_s;
  matrix.failed.assign(sources.size(), std::vector<bool>(destinations.size()));
  for (const Measurement* one : pairs) {
    const std::size_t row = place_of(matrix.sources, one->source);
    const std::size_t column = place_of(matrix.destinations, one->destination);
    matrix.failed[row][column] = one->has_failed();
    if (one->status != Status::ok) continue;
    if (has_latency) {
      matrix.latency_s[row][column] = one->median_s;
      continue;
    }
    matrix.bytes_per_s[row][column] = one->bytes_per_s;
    matrix.largest_bytes_per_s = std::max(matrix.largest_bytes_per_s, one->bytes_per_s.value_or(0));
  }
  return matrix;
}

}  // namespace

std::vector<Matrix> matrices_of(const std::vector<Measurement>& measurements) {
  std::map<std::string_view, std::size_t> places;
  std::vector<Pairs> groups;
  for (const Measurement& one : measurements) {
    if (!one.is_pair()) continue;
    const auto [place, is_new] = places.emplace(one.label, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&one);
  }
  std::vector<Matrix> matrices;
  for (const Pairs& pairs : groups) {
    Names sources(is_device_before);
    Names destinations(is_device_before);
    for (const Measurement* one : pairs) {
      sources.insert(one->source);
      destinations.insert(one->destination);
    }
    const bool is_one = sources.size() >= 2 && destinations.size() >= 2;
    if (!is_one || sources.size() * destinations.size() > most_places * pairs.size()) continue;
    matrices.push_back(matrix_of(pairs, sources, destinations));
  }
  return matrices;
}

double strength(const Matrix& matrix, double bytes_per_s) {
  const double largest = matrix.largest_bytes_per_s;
  return largest > 0 ? std::clamp(bytes_per_s / largest, 0.0, 1.0) : 0;
}

Table table_of(const Matrix& matrix) {
  std::string platform = platform_of(matrix.sources.front());
  for (const auto* names : {&matrix.sources, &matrix.destinations}) {
    for (const std::string& name : *names) {
      if (platform_of(name) != platform) platform.clear();
    }
  }
  const auto shown = [&platform](const std::string& name) {
    return platform.empty() ? name : name.substr(platform.size() + 1);
  };
  Table table;
  table.title = matrix.title;
  table.columns.push_back({"source", platform, Unit::none});
  for (const std::string& name : matrix.destinations) {
    table.columns.push_back({name, shown(name), Unit::hundredths});
  }
  for (std::size_t row = 0; row < matrix.sources.size(); ++row) {
    std::vector<Value> values;
    values.emplace_back(shown(matrix.sources[row]));
    const bool has_latency = !matrix.latency_s.empty();
    const double unit = has_latency ? 1e-6 : 1e9;
    auto& tones = table.tones.emplace_back(1, Tone::plain);
    const auto& numbers = has_latency ? matrix.latency_s[row] : matrix.bytes_per_s[row];
    for (std::size_t column = 0; column < numbers.size(); ++column) {
      values.emplace_back();
      const bool has_failed = matrix.has_failed(row, column);
      if (numbers[column]) values.back() = Value(std::round(*numbers[column] / unit * 100) / 100);
      if (has_failed) values.back() = Value("FAILED");
      tones.push_back(has_failed ? Tone::bad : Tone::plain);
    }
    table.rows.push_back(std::move(values));
  }
  return table;
}

}  // namespace hiptool::report
