// SPDX-License-Identifier: MIT
#include "measure/copy/thresholds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>

#include "base/text.hpp"

namespace hiptool::measure {
namespace {

struct RateUnit {
  std::string_view text;
  double factor;
};
constexpr std::array rate_units{
    RateUnit{"B/s", 1},        RateUnit{"KB/s", 1e3},     RateUnit{"MB/s", 1e6},
    RateUnit{"GB/s", 1e9},     RateUnit{"TB/s", 1e12},    RateUnit{"KiB/s", 0x1p10},
    RateUnit{"MiB/s", 0x1p20}, RateUnit{"GiB/s", 0x1p30}, RateUnit{"TiB/s", 0x1p40},
};

Error usage_error(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "parse threshold", std::move(message), std::move(hint));
}

Error refuse(std::string_view text) {
  return usage_error("'" + std::string(text) + "' is no threshold",
                     "write it as 'h2d.pinned>=48GB/s' or 'h2d.pinned>=90%'");
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string lower(std::string_view text) {
  std::string copy(text);
  std::transform(copy.begin(), copy.end(), copy.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return copy;
}

bool names_one_of(std::string_view part, const std::vector<std::string>& device_names) {
  return std::any_of(device_names.begin(), device_names.end(), [&](const std::string& name) {
    return lower(name).find(lower(part)) != std::string::npos;
  });
}

std::size_t parse_count(std::string_view part, std::string_view whole) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
  constexpr std::size_t most = 1000;
  if (error == std::errc{} && end == part.data() + part.size() && count > 0 && count <= most) {
    return count;
  }
  throw usage_error("--retry: '" + std::string(whole) + "' is not K/N",
                    "write it as 2/3: met when 2 of at most 3 measurements meet it");
}

}  // namespace

Threshold parse_threshold(std::string_view text) {
  const std::size_t sign = text.find(">=");
  if (sign == std::string_view::npos) throw refuse(text);
  Threshold threshold;
  threshold.text = std::string(trim(text));
  threshold.selector = std::string(trim(text.substr(0, sign)));
  const std::string_view value = trim(text.substr(sign + 2));
  double number = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number, std::chars_format::fixed);
  if (threshold.selector.empty() || error != std::errc{} || !std::isfinite(number) || number < 0) {
    throw refuse(text);
  }
  const std::string_view unit = trim(value.substr(static_cast<std::size_t>(end - value.data())));
  if (unit == "%") {
    threshold.is_share = true;
    threshold.least = number / 100;
    return threshold;
  }
  for (const RateUnit& known : rate_units) {
    if (!base::equals_ignoring_case(known.text, unit)) continue;
    threshold.least = number * known.factor;
    return threshold;
  }
  throw refuse(text);
}

std::vector<Threshold> read_thresholds(const std::filesystem::path& path,
                                       const std::vector<std::string>& device_names) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorCode::input_failed, "open", "cannot read " + path.string(),
                "--fail-below @FILE needs a file with one threshold a line");
  }
  std::vector<Threshold> thresholds;
  bool is_for_us = true;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string_view text = trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    if (text.front() == '[' && text.back() == ']') {
      is_for_us = names_one_of(trim(text.substr(1, text.size() - 2)), device_names);
      continue;
    }
    try {
      Threshold threshold = parse_threshold(text);
      if (is_for_us) thresholds.push_back(std::move(threshold));
    } catch (const Error& error) {
      throw error.with_context(path.string() + ", line " + std::to_string(number));
    }
  }
  if (thresholds.empty()) {
    throw usage_error(path.string() + " has no threshold for these devices",
                      "begin a part for them with the line [PART OF THE NAME]");
  }
  return thresholds;
}

Retry parse_retry(std::string_view text) {
  const std::size_t slash = text.find('/');
  Retry retry;
  retry.needed = parse_count(text.substr(0, slash), text);
  retry.most = parse_count(slash == std::string_view::npos ? "" : text.substr(slash + 1), text);
  if (retry.needed > retry.most) {
    throw usage_error("--retry: '" + std::string(text) + "' needs more than it measures",
                      "write it as 2/3: met when 2 of at most 3 measurements meet it");
  }
  return retry;
}

std::vector<const Threshold*> thresholds_for(const CopyCell& cell,
                                             const std::vector<Threshold>& thresholds) {
  std::vector<const Threshold*> found;
  if (cell.is_latency) return found;
  for (const Threshold& threshold : thresholds) {
    if (is_selected(cell, threshold.selector)) found.push_back(&threshold);
  }
  return found;
}

Judgement judge(const Threshold& threshold, const CopyResult& result) {
  Judgement judgement;
  judgement.threshold = threshold.text;
  judgement.cell = id_of(result.cell);
  judgement.least_bytes_per_s = threshold.least;
  if (threshold.is_share) {
    if (!result.limit) {
      throw usage_error(
          "'" + threshold.text + "': the limit of " + judgement.cell + " is not known here",
          "give a rate, such as '" + threshold.selector + ">=20GB/s'");
    }
    judgement.least_bytes_per_s = threshold.least * result.limit->bytes_per_s;
  }
  judgement.measured_bytes_per_s = result.rate_of(result.summary.median);
  judgement.measured = 1;
  judgement.is_met = judgement.measured_bytes_per_s >= judgement.least_bytes_per_s;
  judgement.met = judgement.is_met ? 1 : 0;
  return judgement;
}

void require_selected(const std::vector<Threshold>& thresholds,
                      const std::vector<const CopyCell*>& cells) {
  for (const Threshold& threshold : thresholds) {
    const bool is_named = std::any_of(cells.begin(), cells.end(), [&](const CopyCell* cell) {
      return !cell->is_latency && is_selected(*cell, threshold.selector);
    });
    if (is_named) continue;
    std::string ids;
    constexpr std::size_t most_named = 8;
    for (std::size_t i = 0; i < cells.size() && i < most_named; ++i) {
      if (!cells[i]->is_latency) ids += (ids.empty() ? "" : ", ") + id_of(*cells[i]);
    }
    throw usage_error("'" + threshold.text + "' names no cell that is measured",
                      ids.empty() ? "nothing is measured" : "measured: " + ids);
  }
}

}  // namespace hiptool::measure
