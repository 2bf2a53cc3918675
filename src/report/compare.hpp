// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "report/reader.hpp"
#include "report/setup.hpp"

namespace hiptool::report {

struct RunComparison {
  std::vector<Comparison> comparisons;  ///< of both runs, in the order of the old document
  std::vector<std::string> only_old;    ///< ids
  std::vector<std::string> only_new;
  std::vector<SetupDifference> differences;
  double effect = base::least_effect;

  std::size_t count(base::Verdict verdict) const;
  /// The worst that a reader must act on; absent where nothing was compared.
  std::optional<base::Verdict> verdict() const;
  /// Measurements that are slower or failed in the new run, or that the runs have none in common.
  std::vector<Failure> failures() const;
};

/// Compares every measurement that both runs have, sample by sample. There are no comparisons where
/// no measurement has samples in both runs or failed in the new one. Throws Error(invalid_argument)
/// for runs of different commands, and Error(unsupported) for commands whose documents have no
/// samples.
RunComparison compare_runs(const RunFile& before, const RunFile& after, double effect);

}  // namespace hiptool::report
