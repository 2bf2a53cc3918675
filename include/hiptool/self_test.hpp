// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/leaf_verification.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool {

/// What goes wrong in real loads, planted on purpose.
enum class Fault {
  flip,   ///< one bit of the device's memory
  swap,   ///< two pieces in each other's place
  drop,   ///< a piece that never arrived
  shift,  ///< a piece that lies one byte too far
};

/// "flip", "swap", "drop", "shift".
HIPTOOL_API std::string_view to_string(Fault fault) noexcept;

struct FaultResult {
  Fault fault = Fault::flip;
  std::string tensor;               ///< in which it was planted
  std::uint64_t device_offset = 0;  ///< where the damage begins
  bool is_caught = false;           ///< reported, in this tensor, and nowhere else
  std::string device;               ///< "nvidia:0"
};

/// Proves the verifier: plants each fault in the loaded arena, lets the verification look again and
/// mends the arena. Throws Error(invalid_argument) when the model is too small for four pieces that
/// differ, else what the runtime answered. Blocks. Leaves the arena as it was.
HIPTOOL_API std::vector<FaultResult> run_self_test(const ModelFile& model,
                                                   const ArenaLayout& layout, const Buffer& arena,
                                                   LeafVerification& verification);

}  // namespace hiptool
