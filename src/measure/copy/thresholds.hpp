// SPDX-License-Identifier: MIT
/// What is good enough: thresholds on rates, and how often they may be missed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "measure/copy/bench.hpp"

namespace hiptool::measure {

/// "h2d.pinned>=48GB/s" or "h2d.pinned>=90%" (of the cell's limit).
struct Threshold {
  std::string text;      ///< as it was written
  std::string selector;  ///< see is_selected()
  double least = 0;      ///< bytes per second, or a share
  bool is_share = false;
};

/// Throws Error(invalid_argument) that names the accepted forms.
Threshold parse_threshold(std::string_view text);

/// Thresholds of a file: one a line; after a line "[NAME]" only for devices whose name holds NAME
/// (case does not matter), at the start for all. Blank lines and "#" comments are skipped. Throws
/// Error(invalid_argument) naming file and line, also if nothing in it is for one of the devices.
std::vector<Threshold> read_thresholds(const std::filesystem::path& path,
                                       const std::vector<std::string>& device_names);

/// "2/3": met when 2 of at most 3 measurements meet it.
struct Retry {
  std::size_t needed = 1;
  std::size_t most = 1;
};
Retry parse_retry(std::string_view text);

/// The thresholds that a cell has to meet; none for latencies.
std::vector<const Threshold*> thresholds_for(const CopyCell& cell,
                                             const std::vector<Threshold>& thresholds);

struct Judgement {
  std::string threshold;
  std::string cell;
  double least_bytes_per_s = 0;
  double measured_bytes_per_s = 0;
  std::size_t met = 0;       ///< measurements that met it
  std::size_t measured = 0;  ///< measurements
  bool is_met = false;
};

/// One measurement against one threshold. Throws Error(invalid_argument) for a share of a limit
/// that is not known.
Judgement judge(const Threshold& threshold, const CopyResult& result);

/// Throws Error(invalid_argument), with the ids there are, for a threshold that selects none of
/// these cells.
void require_selected(const std::vector<Threshold>& thresholds,
                      const std::vector<const CopyCell*>& cells);

}  // namespace hiptool::measure
