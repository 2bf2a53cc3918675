// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/ops_model.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// Throws Error(unsupported) for a context in which each token changes the rotation.
void require_rope(const RopeSpec& rope, std::uint64_t context_tokens);

/// Radians a position of each pair. Waits for a device where a tensor of the file has divisors.
std::vector<double> decoder_frequencies(std::span<const Backend> backends, const RopeSpec& rope,
                                        std::uint64_t context_tokens, const FindWeight& find);

/// Cosines and sines for all positions of the context.
ops::RopeTables decoder_rope_tables(const Backend& backend, const RopeSpec& rope,
                                    const std::vector<double>& frequencies,
                                    std::uint64_t context_tokens);

/// By what the query of a position is multiplied: DecoderSpec::temperature_scale.
double query_factor(const DecoderSpec& spec, std::uint64_t position);

}  // namespace hiptool::runtime
