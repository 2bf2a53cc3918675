// SPDX-License-Identifier: MIT
/// Steps that only some architectures have. Each queues its work.
#pragma once
#include <cstdint>
#include <optional>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_part.hpp"

namespace hiptool::runtime {

/// A norm of rows.
void norm_into(const DecoderPart& part, const DecoderSpec& spec, Tensor& out, const Tensor& x,
               const Tensor& weight);

/// What a block computes with: x after a norm, in scratch memory; or x itself.
Tensor normed_or_same(const DecoderPart& part, const DecoderSpec& spec, const Tensor& x,
                      const std::optional<Tensor>& norm);

/// In place; nothing for 1.
void scale(const DecoderPart& part, Tensor& values, double factor);

/// Queries of neighbouring positions times query_factor(), in place.
void scale_queries(const DecoderPart& part, const DecoderSpec& spec, const Tensor& q,
                   std::uint64_t first);

/// DecoderSpec::logit_scale and logit_softcap, in place.
void scale_logits(const DecoderPart& part, const DecoderSpec& spec, Tensor& logits);

}  // namespace hiptool::runtime
