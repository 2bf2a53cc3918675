// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/sampling.hpp"

namespace hiptool::runtime {

/// Complete when decode_tokens() returns; after an exception only `ids` so far.
struct DecodedTokens {
  std::vector<std::uint32_t> ids;
  /// XXH3-64 of the XXH3-64 of each step's logits, both as little-endian bytes.
  std::uint64_t logits_digest = 0;
  /// Of a step with one token, the mean by events of the device; absent with fewer than two ids.
  std::optional<double> step_time_s;
  std::function<void()> on_id = {};  ///< called after each id, if there is one
};

/// Appends `count` ids to the prompt, each by sample_token() with the position before it as draw.
/// Blocks. Replaces the runtime's probe. Throws what sample_token() and ModelRuntime::decode_step
/// throw, and Error(cancelled), with so little work queued then that releasing the runtime does not
/// block for long.
void decode_tokens(ModelRuntime& runtime, std::span<const std::uint32_t> prompt,
                   std::uint64_t count, const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result);

/// Makes a runtime for that many tokens of context.
using MakeRuntime = std::function<ModelRuntime(std::uint64_t context_tokens)>;

/// The same with runtimes that are made for it. With longrope each id is what a computation of all
/// tokens before it gives: short divisors while they are at most RopeSpec::original_context, then
/// long ones, with which those before are computed once more (as Phi3ForCausalLM of transformers
/// does in prepare_inputs_for_generation). So the first ids do not depend on `count`.
void decode_tokens(const MakeRuntime& make_runtime, const RopeSpec& rope,
                   std::span<const std::uint32_t> prompt, std::uint64_t count,
                   const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result);

/// The prompt of a model for which there is none: eight ids, (7 i^2 + 3 i + 1) modulo the
/// vocabulary.
std::vector<std::uint32_t> default_prompt(std::uint64_t vocabulary);

}  // namespace hiptool::runtime
