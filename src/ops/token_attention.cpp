// SPDX-License-Identifier: MIT
#include "ops/token_attention.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "ops/backend_state.hpp"
#include "ops/layers.hpp"

namespace hiptool::ops {
namespace {

bool is_token(const Tensor& rows) {
  return rows.dtype() == DType::f32 && rows.layout().rank() == 3 && rows.dims()[0] == 1 &&
         rows.layout().is_contiguous();
}

bool is_cached_by_rows(const Tensor& cached) {
  return cached.dims()[2] <= hiptool_ops::attention_size && cached.dims()[2] > 0 &&
         (cached.layout().strides()[2] == 1 || cached.dims()[2] == 1);
}

bool fits_token_kernel(const TokenHeads& heads, const KVCache& cache, const HeadSteps& steps,
                       const AttentionOptions& options, const Tensor& out) {
  for (const Tensor* rows : {&heads.q, &heads.k, &heads.v, &out}) {
    if (!is_token(*rows)) return false;
  }
  for (const Tensor* norm : {steps.query_norm, steps.key_norm}) {
    if (norm != nullptr && !norm->layout().is_contiguous()) return false;
  }
  if (steps.tables != nullptr && !steps.tables->cosines.layout().is_contiguous()) return false;
  // The value that is not in the cache yet is read in the same pieces.
  if (has_whole_pieces(cache.values) && !has_whole_pieces(heads.v)) return false;
  return options.is_causal && options.first_position < cache.keys.dims()[0] &&
         is_cached_by_rows(cache.keys) && is_cached_by_rows(cache.values);
}

const float* numbers_of(const Tensor* tensor) {
  return tensor != nullptr ? static_cast<const float*>(tensor->address()) : nullptr;
}

hiptool_ops::TokenAttention token_arguments(const TokenHeads& heads, const KVCache& cache,
                                            const HeadSteps& steps,
                                            const AttentionOptions& options) {
  hiptool_ops::TokenAttention token{};
  hiptool_ops::Attention& all = token.all;
  all.tokens = 1;
  all.heads = heads.q.dims()[1];
  all.group = all.heads / cache.keys.dims()[1];
  all.key_size = heads.q.dims()[2];
  all.value_size = cache.values.dims()[2];
  all.first = options.first_position;
  all.window = options.window.value_or(std::numeric_limits<std::uint64_t>::max());
  all.key = {cache.keys.layout().strides()[0], cache.keys.layout().strides()[1]};
  all.value = {cache.values.layout().strides()[0], cache.values.layout().strides()[1]};
  const double usual_scale = 1 / std::sqrt(static_cast<double>(all.key_size));
  all.scale = static_cast<float>(options.scale.value_or(usual_scale));
  all.softcap = static_cast<float>(options.softcap);
  all.key_pieces = has_whole_pieces(cache.keys) ? 1 : 0;
  all.value_pieces = has_whole_pieces(cache.values) ? 1 : 0;
  token.pairs = steps.tables != nullptr ? steps.tables->cosines.dims()[1] : 0;
  token.are_neighbours = steps.pairs == RopePairs::neighbours ? 1 : 0;
  token.epsilon = static_cast<float>(steps.norm_epsilon);
  return token;
}

}  // namespace

bool attend_token_into(const Backend& backend, Tensor& out, const TokenHeads& heads,
                       const KVCache& cache, const HeadSteps& steps,
                       const AttentionOptions& options) {
  if (!fits_token_kernel(heads, cache, steps, options, out)) return false;
  const hiptool_ops::TokenAttention token = token_arguments(heads, cache, steps, options);
  LaunchConfig config;
  config.grid.x = static_cast<std::uint32_t>(token.all.heads);
  config.block.x = hiptool_ops::layer_threads;
  const std::uint64_t floats = hiptool_ops::attention_extra +
                               hiptool_ops::attention_parts * token.all.value_size +
                               2 * ((token.all.key_size + 3) / 4 * 4);
  config.shared_bytes = static_cast<std::uint32_t>(floats * sizeof(float));
  const RopeTables* const tables = steps.tables;
  launch(state_of(backend).kernel("ops_attention", "hiptool_attention_token_f32"), config,
         backend.stream(), token, heads.q.address(), heads.k.address(), heads.v.address(),
         cache.keys.address(), cache.values.address(),
         numbers_of(tables != nullptr ? &tables->cosines : nullptr),
         numbers_of(tables != nullptr ? &tables->sines : nullptr), numbers_of(steps.query_norm),
         numbers_of(steps.key_norm), numbers_of(options.sinks ? &*options.sinks : nullptr),
         out.address(), steps.position != nullptr ? steps.position->address() : nullptr);
  return true;
}

}  // namespace hiptool::ops
