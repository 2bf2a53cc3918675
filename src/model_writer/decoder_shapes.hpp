// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

#include "model_writer/decoder_plan.hpp"

namespace hiptool::model_writer {

/// Gives the plan the shape, of those of published models of its architecture and some smaller
/// ones, whose tensors take closest to `size_bytes`; where none is within a tenth of that, with
/// another number of layers, at least three. Only shapes whose matrices have columns in whole
/// blocks of `block` elements count. `size_of` gives the bytes of a plan's tensors.
void choose_shape(DecoderPlan& plan, std::uint64_t size_bytes, std::uint64_t block,
                  const std::function<std::uint64_t(const DecoderPlan&)>& size_of);

}  // namespace hiptool::model_writer
