// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/verification.hpp"

namespace hiptool {

/// What goes wrong in real loads, planted on purpose.
enum class Fault {
  flip,   ///< one bit of the device's memory
  swap,   ///< two pieces in each other's place
  drop,   ///< a piece that never arrived
  shift,  ///< a piece that lies one byte too far
  /// a later piece's bytes over an earlier piece, by a copy that lands when all pieces have
  /// arrived, as with a stuck address line
  late,
};

/// "flip", "swap", "drop", "shift", "late".
HIPTOOL_API std::string_view to_string(Fault fault) noexcept;

struct FaultResult {
  Fault fault = Fault::flip;
  std::string tensor;               ///< in which it was planted
  std::uint64_t device_offset = 0;  ///< where the damage begins
  bool is_caught = false;           ///< reported, in this tensor, and nowhere else
  std::string device;               ///< "nvidia:0"
};

/// Tests the verification: plants each fault on each device that has tensors, calls finish() and
/// mends the arena. Arenas must hold the model, as they do after a load that was verified. Throws
/// Error(invalid_argument) when the part of a device is too small for four pieces that differ, else
/// as Verification::finish. Blocks. Leaves the arenas as they were.
HIPTOOL_API std::vector<FaultResult> run_self_test(const ModelFile& model, const LoadPlan& plan,
                                                   std::span<const Buffer> arenas,
                                                   Verification& verification);

}  // namespace hiptool
