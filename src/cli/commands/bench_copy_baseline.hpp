// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/bench_copy_outcome.hpp"

namespace hiptool::cli {

/// An earlier run, read from its JSON document.
class Baseline {
 public:
  /// Throws Error(input_failed) for a file that cannot be read and Error(corrupt_data) for one that
  /// is no document of bench-copy.
  explicit Baseline(const std::string& path);

  /// Each measured cell that the earlier run measured too. Throws Error(invalid_argument) where
  /// there is none: such a comparison would pass whatever was measured.
  std::vector<BaselineComparison> compare(const BenchCopyOutcome& outcome) const;

 private:
  struct DeviceFacts {
    std::string name;
    std::optional<double> link_bytes_per_s;  ///< during the copies
    bool is_throttled = false;
  };

  std::string doubt_of(const measure::CopyCell& cell, const BenchCopyOutcome& outcome) const;

  std::string path_;
  std::map<std::string, std::vector<double>> samples_s_;  // by cell
  std::map<std::string, DeviceFacts> devices_;            // by id
};

}  // namespace hiptool::cli
