// SPDX-License-Identifier: MIT
#include "measure/threshold.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/contains.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {
namespace {

struct ThresholdUnit {
  std::string_view text;
  double factor;
  Threshold::Of of = Threshold::Of::bytes_per_s;
};
// A rate is at least the bound, a latency at most.
constexpr std::array units{
    ThresholdUnit{"%", 1, Threshold::Of::share},
    ThresholdUnit{"B/s", 1},
    ThresholdUnit{"KB/s", 1e3},
    ThresholdUnit{"MB/s", 1e6},
    ThresholdUnit{"GB/s", 1e9},
    ThresholdUnit{"TB/s", 1e12},
    ThresholdUnit{"KiB/s", 0x1p10},
    ThresholdUnit{"MiB/s", 0x1p20},
    ThresholdUnit{"GiB/s", 0x1p30},
    ThresholdUnit{"TiB/s", 0x1p40},
    ThresholdUnit{"MFLOP/s", 1e6, Threshold::Of::flops_per_s},
    ThresholdUnit{"GFLOP/s", 1e9, Threshold::Of::flops_per_s},
    ThresholdUnit{"TFLOP/s", 1e12, Threshold::Of::flops_per_s},
    ThresholdUnit{"ns", 1e-9, Threshold::Of::latency_s},
    ThresholdUnit{"us", 1e-6, Threshold::Of::latency_s},
    ThresholdUnit{"ms", 1e-3, Threshold::Of::latency_s},
    ThresholdUnit{"s", 1, Threshold::Of::latency_s},
};

Error usage_error(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "parse threshold", std::move(message), std::move(hint));
}

constexpr std::uint64_t most_file_bytes = 1u << 20;
constexpr std::size_t most_quoted_bytes = 100;  // a file of another kind may have long lines

Error refuse(std::string_view text, ThresholdKind kind) {
  const std::string end = text.size() > most_quoted_bytes ? "..." : "";
  return usage_error(
      "'" + std::string(text.substr(0, most_quoted_bytes)) + end + "' is not a valid threshold",
      kind == ThresholdKind::copies ? "write it as 'h2d.pinned>=48GB/s', 'h2d.pinned>=90%' or "
                                      "'h2d.latency<=20us'"
                                    : "write it as 'stream-triad.f32>=90%', 'sum.1GiB>=3.5TB/s' or "
                                      "'gemm.f32>=20TFLOP/s'");
}

Error refuse_sign(std::string_view text, bool is_latency) {
  const std::string quoted = "'" + std::string(text.substr(0, most_quoted_bytes)) + "'";
  return is_latency ? usage_error(quoted + ": a latency has an upper limit",
                                  "write <=, as in 'h2d.latency<=20us'")
                    : usage_error(quoted + ": a rate has a lower limit",
                                  "write >=, as in 'h2d.pinned>=48GB/s'");
}

/// Whether a part of the selector asks for latencies, which are times.
bool names_latency(std::string_view selector) {
  constexpr std::string_view word = "latency";
  for (std::size_t start = 0; start <= selector.size();) {
    const std::size_t end = std::min(selector.find('.', start), selector.size());
    if (selector.substr(start, end - start) == word) return true;
    start = end + 1;
  }
  return false;
}

Error refuse_unit_of_latency(std::string_view text, bool is_share) {
  return usage_error("'" + std::string(text.substr(0, most_quoted_bytes)) + "': a latency " +
                         (is_share ? "has no limit to be a share of" : "is a time, not a rate"),
                     "write a time, as in 'h2d.latency<=20us'");
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

// "H2D.Pinned" as h2d.pinned; sizes such as 1GiB, which begin with a digit, as they are.
std::string lower_words(std::string_view selector) {
  std::string words;
  for (std::size_t start = 0; start <= selector.size();) {
    const std::size_t end = std::min(selector.find('.', start), selector.size());
    const std::string_view word = selector.substr(start, end - start);
    const bool is_size = !word.empty() && word.front() >= '0' && word.front() <= '9';
    words += (start > 0 ? "." : "") + (is_size ? std::string(word) : lower(word));
    start = end + 1;
  }
  return words;
}

std::vector<std::string> ids_named(std::string_view part, const std::vector<NamedDevice>& devices) {
  std::vector<std::string> ids;
  for (const NamedDevice& device : devices) {
    if (lower(device.name).find(lower(part)) != std::string::npos) ids.push_back(device.id);
  }
  return ids;
}

bool is_file(const std::string& text) { return !text.empty() && text.front() == '@'; }

std::optional<std::uint64_t> size_of(std::string_view part) {
  try {
    return parse_size(part);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

bool is_for(const Threshold& threshold, const std::string& device_id) {
  const std::vector<std::string>& ids = threshold.device_ids;
  return ids.empty() || base::contains(ids, device_id);
}

Threshold parse_threshold(std::string_view text, ThresholdKind kind) {
  const std::size_t sign = std::min(text.find(">="), text.find("<="));
  if (sign == std::string_view::npos) throw refuse(text, kind);
  const bool is_upper = text[sign] == '<';
  Threshold threshold;
  threshold.text = std::string(trim(text));
  threshold.selector = lower_words(trim(text.substr(0, sign)));
  const std::string_view value = trim(text.substr(sign + 2));
  double number = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number, std::chars_format::fixed);
  if (threshold.selector.empty() || error != std::errc{} || !std::isfinite(number) || number < 0) {
    throw refuse(text, kind);
  }
  const std::string_view unit = trim(value.substr(static_cast<std::size_t>(end - value.data())));
  for (const ThresholdUnit& known : units) {
    const bool is_latency = known.of == Threshold::Of::latency_s;
    const auto of_others =
        kind == ThresholdKind::copies ? Threshold::Of::flops_per_s : Threshold::Of::latency_s;
    if (known.of == of_others || !base::equals_ignoring_case(known.text, unit)) continue;
    if (!is_latency && kind == ThresholdKind::copies && names_latency(threshold.selector)) {
      throw refuse_unit_of_latency(text, known.of == Threshold::Of::share);
    }
    if (is_latency != is_upper) throw refuse_sign(text, is_latency);
    threshold.of = known.of;
    threshold.bound = known.of == Threshold::Of::share ? number / 100 : number * known.factor;
    return threshold;
  }
  throw refuse(text, kind);
}

std::vector<Threshold> read_thresholds(const std::filesystem::path& path,
                                       const std::vector<NamedDevice>& devices, ThresholdKind kind,
                                       const CancelToken* cancel) {
  std::istringstream file(base::read_input_file(path, most_file_bytes, cancel));
  std::vector<Threshold> thresholds;
  bool is_for_us = true;
  std::vector<std::string> ids;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string_view text = trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    if (text.front() == '[' && text.back() == ']') {
      ids = ids_named(trim(text.substr(1, text.size() - 2)), devices);
      is_for_us = !ids.empty();
      continue;
    }
    try {
      Threshold threshold = parse_threshold(text, kind);
      threshold.device_ids = ids;
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

std::vector<Threshold> collect_thresholds(const std::vector<std::string>& texts,
                                          const std::vector<Device>& devices, ThresholdKind kind,
                                          const CancelToken* cancel) {
  std::vector<NamedDevice> names;
  for (const Device& device : devices) names.push_back({device.id(), device.info().name});
  std::vector<Threshold> thresholds;
  for (const std::string& text : texts) {
    if (text == "@") throw usage_error("'@' names no file of thresholds", "write it as @FILE");
    if (is_file(text)) {
      const auto more = read_thresholds(text.substr(1), names, kind, cancel);
      thresholds.insert(thresholds.end(), more.begin(), more.end());
    } else {
      thresholds.push_back(parse_threshold(text, kind));
    }
  }
  return thresholds;
}

std::vector<Threshold> plain_thresholds(const std::vector<std::string>& texts, ThresholdKind kind) {
  std::vector<Threshold> thresholds;
  for (const std::string& text : texts) {
    if (!is_file(text)) thresholds.push_back(parse_threshold(text, kind));
  }
  return thresholds;
}

bool means_size(std::string_view part, std::string_view size_word) {
  if (size_word.empty()) return false;
  if (part == size_word) return true;
  const auto size_bytes = size_of(part);
  return size_bytes && report::size_word(*size_bytes) == size_word;
}

bool is_size(std::string_view part) {
  return size_of(part) || (part.size() > 1 && part.back() == '%');
}

}  // namespace hiptool::measure
