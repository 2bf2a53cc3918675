// SPDX-License-Identifier: MIT
/// The thresholds of `--fail-below` for copies and kernels.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"

namespace hiptool::measure {

/// "h2d.pinned>=48GB/s", "stream-triad.f32>=90%", "fma.f32>=50TFLOP/s", "h2d.latency<=20us".
struct Threshold {
  enum class Of { share, bytes_per_s, flops_per_s, latency_s };
  std::string text;      ///< as it was written
  std::string selector;  ///< words separated by dots, for is_selected() and judge_threshold()
  double bound = 0;      ///< in base units: the most for a latency, else the least; a share is 0..1
  Of of = Of::share;
  std::vector<std::string> device_ids;  ///< the devices of its part of a file; empty: all
};

/// Whether the threshold applies to that device ("nvidia:0").
bool is_for(const Threshold& threshold, const std::string& device_id);

/// A device, for the parts of threshold files.
struct NamedDevice {
  std::string id;
  std::string name;
};

/// Copies have no thresholds in operations per second, kernels none of latencies.
enum class ThresholdKind { copies, kernels };

/// Throws Error(invalid_argument) with the accepted forms.
Threshold parse_threshold(std::string_view text, ThresholdKind kind);

/// Thresholds of a file: one a line; after a line "[NAME]" only for devices whose name contains
/// NAME (ignoring case), before the first such line for all. Blank lines and "#" comments are
/// skipped. Throws Error(invalid_argument) with file and line, also if none is for one of the
/// devices, and as base::read_input_file() does, also for more than 1 MiB.
std::vector<Threshold> read_thresholds(const std::filesystem::path& path,
                                       const std::vector<NamedDevice>& devices, ThresholdKind kind,
                                       const CancelToken* cancel = nullptr);

/// The values of `--fail-below`: thresholds, or "@FILE". Throws as the two functions above.
std::vector<Threshold> collect_thresholds(const std::vector<std::string>& texts,
                                          const std::vector<Device>& devices, ThresholdKind kind,
                                          const CancelToken* cancel = nullptr);

/// The values that are not files, which can be parsed before the devices are known.
std::vector<Threshold> plain_thresholds(const std::vector<std::string>& texts, ThresholdKind kind);

/// Whether a part of a selector ("256MiB", "256M", "268435456") is the size in an id ("256MiB", or
/// "90%" of the memory).
bool means_size(std::string_view part, std::string_view size_word);

/// Whether such a part is a size or a share of the memory.
bool is_size(std::string_view part);

}  // namespace hiptool::measure
