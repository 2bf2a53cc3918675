// SPDX-License-Identifier: MIT
/// What the ways of copies allow at their best: slots of PCI Express, links between two GPUs.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/device.hpp"
#include "measure/copy/bench.hpp"

namespace hiptool::accept {

/// Reads the kernel's files below a root and, for several NVIDIA GPUs, their sensors.
class CopyPaths {
 public:
  CopyPaths() = default;
  /// Blocks while the sensors are opened, for the patience at most; throws nothing for missing
  /// ones.
  CopyPaths(const std::vector<Device>& devices, const std::filesystem::path& root,
            std::chrono::milliseconds patience);

  /// Bytes per second in one direction: of a copy of one device and the host the path to its root
  /// port, at the highest speed and width of each hop; of a copy between two GPUs their NVLinks or
  /// XGMI links that work. Absent for other copies and where they are unknown.
  std::optional<double> best_of(const measure::CopyResult& result) const;

 private:
  std::map<std::string, double> slots_;
  std::map<std::pair<std::string, std::string>, double> nvlinks_;
};

}  // namespace hiptool::accept
