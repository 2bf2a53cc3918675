// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "hiptool/model_file.hpp"

namespace hiptool::reference {

/// What prove() and make_golden() take for a prompt of eight tokens.
struct Needs {
  std::uint64_t device_bytes = 0;  ///< besides the weights
  /// Of this process, besides what a load takes; no matrix is held whole, so it depends on the
  /// number of processors and the prompt more than on the model.
  std::uint64_t host_bytes = 0;
  double host_time_s = 0;    ///< of prove(), an estimate without the reading of files
  double golden_time_s = 0;  ///< the same of make_golden()
};

/// Whether a model can be proved.
struct Provability {
  std::optional<Needs> needs;
  std::string refusal;  ///< the key, value or tensor that stands in its way, without the path
};

/// A model cannot be proved that is not a known decoder, or has types of weights without kernels.
/// Blocks while small parts of files are read.
Provability provability(const ModelFile& model);

}  // namespace hiptool::reference
