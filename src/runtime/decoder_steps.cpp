// SPDX-License-Identifier: MIT
#include "runtime/decoder_steps.hpp"

#include "hiptool/ops.hpp"
#include "hiptool/ops_rows.hpp"
#include "runtime/decoder_memory.hpp"
#include "runtime/decoder_rope.hpp"

namespace hiptool::runtime {

void norm_into(const DecoderPart& part, const DecoderSpec& spec, Tensor& out, const Tensor& x,
               const Tensor& weight) {
  if (spec.has_layer_norms) {
    ops::layernorm_into(part.backend, out, x, weight, spec.norm_epsilon);
  } else {
    ops::rmsnorm_into(part.backend, out, x, weight, spec.norm_epsilon);
  }
}

Tensor normed_or_same(const DecoderPart& part, const DecoderSpec& spec, const Tensor& x,
                      const std::optional<Tensor>& norm) {
  if (!norm) return x;
  Tensor normed = DecoderMemory::rows(part.memory.normed, x.dims()[0], spec.embedding);
  norm_into(part, spec, normed, x, *norm);
  return normed;
}

void scale(const DecoderPart& part, Tensor& values, double factor) {
  if (factor != 1) ops::affine_into(part.backend, values, values, factor, 0.0);
}

// One launch for all positions of the same factor, of which there are thousands.
void scale_queries(const DecoderPart& part, const DecoderSpec& spec, const Tensor& q,
                   std::uint64_t first) {
  const std::uint64_t tokens = q.dims()[0];
  for (std::uint64_t at = 0; at < tokens;) {
    const double factor = query_factor(spec, first + at);
    std::uint64_t count = 1;
    while (at + count < tokens && query_factor(spec, first + at + count) == factor) ++count;
    Tensor same = q.with_layout(q.layout().narrow(0, at, count));
    scale(part, same, factor);
    at += count;
  }
}

void scale_logits(const DecoderPart& part, const DecoderSpec& spec, Tensor& logits) {
  const double cap = spec.logit_softcap;
  scale(part, logits, cap > 0 ? spec.logit_scale / cap : spec.logit_scale);
  if (cap == 0) return;
  ops::tanh_into(part.backend, logits, logits);
  scale(part, logits, cap);
}

}  // namespace hiptool::runtime
