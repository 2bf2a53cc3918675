// SPDX-License-Identifier: MIT
/// Experts that are chosen by their shares, for the runtime.
#pragma once
#include <cstdint>
#include <optional>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/ops_experts.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::ops {

/// The experts of tokens by scores f32 [tokens, experts], and their weights, as ExpertsSpec says
/// where it has shares; the bias is f32 [experts]. kernels/ops/shares.hip states the order of sums.
/// The bits of one token depend on no other. Throws Error(invalid_argument) for other shapes,
/// dtypes and devices, for more than 1024 experts, and for groups that do not fit them.
void route_shares_into(const Backend& backend, ExpertRouting& out, const Tensor& scores,
                       const std::optional<Tensor>& bias, const ExpertsSpec& experts);

}  // namespace hiptool::ops
