// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "hiptool/model_file.hpp"

namespace hiptool::reference {

/// What prove() and make_golden() take for a prompt of eight tokens.
struct Needs {
  std::uint64_t device_bytes = 0;  ///< besides the weights
  double host_time_s = 0;          ///< of prove(), an estimate without the reading of files
  double golden_time_s = 0;        ///< the same of make_golden()
};

/// Absent for a model that cannot be proved: no known decoder, or types of weights without kernels.
/// Blocks while small parts of files are read.
std::optional<Needs> prove_needs(const ModelFile& model);

}  // namespace hiptool::reference
