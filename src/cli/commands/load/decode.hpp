// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/console.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/load.hpp"
#include "hiptool/sampling.hpp"
#include "results/load/outcome.hpp"

namespace hiptool::cli {

/// Ids separated by commas. Throws a usage error for other texts.
std::vector<std::uint32_t> parse_prompt_ids(const std::string& text);

/// Throws Error(input_failed) for a model that is not a known decoder, or has weights of a type
/// without kernels, and Error(out_of_bounds) for an id that is not in its vocabulary. Opens no
/// device.
void check_decode(const ModelFile& model, const std::vector<std::uint32_t>& prompt);

/// Continues the prompt (empty: made by a fixed formula) with that many tokens on the devices that
/// hold the model. After an exception the outcome has the ids so far. Throws Error(input_failed)
/// for weights without kernels, and what DecoderSpec::read, ModelRuntime and sample_token throw.
void run_decode(const LoadedModel& model, std::vector<std::uint32_t> prompt, std::uint64_t count,
                const SamplingOptions& sampling, const CancelToken& cancel, Console& console,
                results::DecodeOutcome& outcome);

}  // namespace hiptool::cli
