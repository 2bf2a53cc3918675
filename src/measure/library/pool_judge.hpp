// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

#include "measure/library/product_judge.hpp"

namespace hiptool::measure {

/// Compares every element with the float64 reference of the operations: the largest element
/// exactly, an average within reference::avg_pool2d() and reference::allow_reciprocal().
Judgement judge_pooling(const PoolProblem& problem, const ProblemData& data,
                        std::span<const std::byte> result);

}  // namespace hiptool::measure
