// SPDX-License-Identifier: MIT
/// What `--fail-below` asks, of copies and of kernels.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"

namespace hiptool::measure {

/// "h2d.pinned>=48GB/s", "stream-triad.f32>=90%", "fma.f32>=50TFLOP/s".
struct Threshold {
  enum class Of { share, bytes_per_s, flops_per_s };
  std::string text;      ///< as it was written
  std::string selector;  ///< words with dots between; is_selected() and judge_threshold() read them
  double least = 0;      ///< in base units; a share lies in 0..1
  Of of = Of::share;
  std::vector<std::string> device_ids;  ///< in a part of a file: whose part it is; empty: all
};

/// Whether the threshold asks something of that device ("nvidia:0").
bool is_for(const Threshold& threshold, const std::string& device_id);

/// A device as parts of files know it.
struct NamedDevice {
  std::string id;
  std::string name;
};

/// What is measured: copies have no operations to count.
enum class ThresholdKind { copies, kernels };

/// Throws Error(invalid_argument) that names the accepted forms.
Threshold parse_threshold(std::string_view text, ThresholdKind kind);

/// Thresholds of a file: one a line; after a line "[NAME]" only for devices whose name holds NAME
/// (case does not matter), at the start for all. Blank lines and "#" comments are skipped. Throws
/// Error(invalid_argument) naming file and line, also if nothing in it is for one of the devices,
/// and as base::read_input_file() does, for more than 1 MiB too.
std::vector<Threshold> read_thresholds(const std::filesystem::path& path,
                                       const std::vector<NamedDevice>& devices, ThresholdKind kind,
                                       const CancelToken* cancel = nullptr);

/// The values of `--fail-below`: a threshold, or "@FILE" with some. Throws as these two do.
std::vector<Threshold> collect_thresholds(const std::vector<std::string>& texts,
                                          const std::vector<Device>& devices, ThresholdKind kind,
                                          const CancelToken* cancel = nullptr);

/// Those that are no file: what can be read before the devices are known.
std::vector<Threshold> plain_thresholds(const std::vector<std::string>& texts, ThresholdKind kind);

/// Whether a part of a threshold's name ("256MiB", "256M", "268435456") means the size that stands
/// in an id ("256MiB"; "90%" of the memory means itself).
bool means_size(std::string_view part, std::string_view size_word);

/// Whether such a part is a size at all, or a share of the memory.
bool is_size(std::string_view part);

}  // namespace hiptool::measure
