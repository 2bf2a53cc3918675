// SPDX-License-Identifier: MIT
/// All-reduces of NCCL or RCCL as the stages run and judge them.
#pragma once
#include <string>

#include "accept/stages.hpp"
#include "measure/collective/reduce.hpp"

namespace hiptool::accept {

/// Those of the level.
measure::ReduceOptions reduce_options(const StageContext& context);

/// The fault of a result that did not end well.
Fault reduce_fault(const std::string& stage, const measure::ReduceResult& result);

}  // namespace hiptool::accept
