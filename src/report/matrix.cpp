// SPDX-License-Identifier: MIT
#include "report/matrix.hpp"

#include <algorithm>
#include <cmath>

#include "report/measurement.hpp"

namespace hiptool::report {
namespace {

// By platform and number, so that nvidia:10 stands behind nvidia:9.
bool is_before(const std::string& left, const std::string& right) {
  const std::string left_platform = platform_of(left);
  const std::string right_platform = platform_of(right);
  if (left_platform != right_platform) return left_platform < right_platform;
  return left.size() != right.size() ? left.size() < right.size() : left < right;
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

Matrix matrix_of(const std::vector<Measurement>& all, const std::string& label) {
  Matrix matrix;
  for (const Measurement& one : all) {
    if (!one.is_pair || one.label != label) continue;
    add_name(matrix.sources, one.source);
    add_name(matrix.destinations, one.destination);
  }
  std::sort(matrix.sources.begin(), matrix.sources.end(), is_before);
  std::sort(matrix.destinations.begin(), matrix.destinations.end(), is_before);
  matrix.label = label;
  matrix.title = label + ": from row to column, GB/s";
  matrix.bytes_per_s.resize(matrix.sources.size());
  for (auto& row : matrix.bytes_per_s) row.resize(matrix.destinations.size());
  for (const Measurement& one : all) {
    if (!one.is_pair || one.label != label || one.status != "ok") continue;
    const std::size_t row = place_of(matrix.sources, one.source);
    matrix.bytes_per_s[row][place_of(matrix.destinations, one.destination)] = one.bytes_per_s;
  }
  return matrix;
}

}  // namespace

std::vector<Matrix> matrices_of(const Object& document) {
  const std::vector<Measurement> all = measurements(document);
  std::vector<std::string> labels;
  for (const Measurement& one : all) {
    if (one.is_pair) add_name(labels, one.label);
  }
  std::vector<Matrix> matrices;
  for (const std::string& label : labels) {
    Matrix matrix = matrix_of(all, label);
    if (matrix.sources.size() < 2 || matrix.destinations.size() < 2) continue;
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

double strength(const Matrix& matrix, double bytes_per_s) {
  double largest = 0;
  for (const auto& row : matrix.bytes_per_s) {
    for (const auto& rate : row) largest = std::max(largest, rate.value_or(0));
  }
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
    table.columns.push_back({name, shown(name), Unit::none});
  }
  for (std::size_t row = 0; row < matrix.sources.size(); ++row) {
    std::vector<Value> values;
    values.emplace_back(shown(matrix.sources[row]));
    for (const auto& rate : matrix.bytes_per_s[row]) {
      values.emplace_back();
      if (rate) values.back() = Value(std::round(*rate / 1e7) / 100);
    }
    table.rows.push_back(std::move(values));
  }
  return table;
}

}  // namespace hiptool::report
