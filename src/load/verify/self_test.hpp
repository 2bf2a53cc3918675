// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"
#include "load/verify/verification.hpp"

namespace hiptool::load {

/// Tests the verification: plants each fault on each device that has tensors, calls finish() and
/// mends the arena. Arenas must hold the model, as they do after a load that was verified. Throws
/// Error(invalid_argument) when the part of a device is too small for four pieces that differ, else
/// as Verification::finish. Blocks. Leaves the arenas as they were.
std::vector<FaultResult> run_self_test(const ModelFile& model, const LoadPlan& plan,
                                                   std::span<const Buffer> arenas,
                                                   Verification& verification);

}  // namespace hiptool::load
