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

/// When a step is queued.
enum class StepOrder {
  /// StepOrder::ahead for greedy sampling on one device that has memory of its own, while a step
  /// takes less than a tenth of a second; else StepOrder::one_by_one.
  automatic,
  one_by_one,  ///< with the id that the host has chosen
  /// With the id that the device chooses, before the host has read the logits that it is chosen
  /// from: the device does not wait for the host. For greedy sampling and
  /// StepsAhead::is_possible().
  ahead,
};

/// Appends `count` ids to the prompt, each by sample_token() with the position before it as draw.
/// The same ids and logits in every order. Blocks. Replaces the runtime's probe. Throws what
/// sample_token() and ModelRuntime::decode_step throw, Error(data_mismatch) where the device
/// chooses another id than sample_token(), and Error(cancelled), with so little work queued then
/// that releasing the runtime does not block for long. After an exception the runtime may have one
/// token more than it would have one by one: it is usable after reset().
void decode_tokens(ModelRuntime& runtime, std::span<const std::uint32_t> prompt,
                   std::uint64_t count, const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result, StepOrder order = StepOrder::automatic);

/// Makes a runtime for that many tokens of context.
using MakeRuntime = std::function<ModelRuntime(std::uint64_t context_tokens)>;

/// The same with runtimes that are made for it. With longrope each id is what a computation of all
/// tokens before it gives: short divisors while they are at most RopeSpec::original_context, then
/// long ones, with which those before are computed once more (as Phi3ForCausalLM of transformers
/// does in prepare_inputs_for_generation). So the first ids do not depend on `count`.
void decode_tokens(const MakeRuntime& make_runtime, const RopeSpec& rope,
                   std::span<const std::uint32_t> prompt, std::uint64_t count,
                   const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result, StepOrder order = StepOrder::automatic);

/// The prompt of a model for which there is none: eight ids, (7 i^2 + 3 i + 1) modulo the
/// vocabulary.
std::vector<std::uint32_t> default_prompt(std::uint64_t vocabulary);

}  // namespace hiptool::runtime
