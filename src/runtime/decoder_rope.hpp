// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/ops_model.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// Cosines and sines for all positions of the context. Waits for the device.
ops::RopeTables decoder_rope_tables(const Backend& backend, const RopeSpec& rope,
                                    std::uint64_t context_tokens, const FindWeight& find);

}  // namespace hiptool::runtime
