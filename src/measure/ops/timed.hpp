// SPDX-License-Identifier: MIT
/// Operations among the kernels that are timed.
#pragma once
#include <memory>
#include <vector>

#include "hiptool/device.hpp"
#include "measure/kernel/work.hpp"
#include "measure/ops/operation.hpp"

namespace hiptool::measure {

void add_operation_families(std::vector<FamilyEntry>& families);

/// The work of an operation, which must outlive it, at the context's shape or size.
std::unique_ptr<KernelWork> operation_work(const Device& device, const WorkContext& context,
                                           const OperationEntry& operation);

}  // namespace hiptool::measure
