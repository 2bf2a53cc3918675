// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/layers.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

constexpr std::string_view attention_name = "attention";

void require_positions(std::string_view operation, const KVCache& cache, std::uint64_t first,
                       std::uint64_t tokens) {
  const std::uint64_t capacity = cache.keys.dims()[0];
  if (first <= capacity && tokens <= capacity - first) return;
  throw Error(ErrorCode::out_of_bounds, std::string(operation),
              std::string(operation) + ": " + std::to_string(tokens) + " tokens from position " +
                  std::to_string(first) + " on exceed the cache's capacity of " +
                  std::to_string(capacity) + "; make it larger or start again");
}

void require_cache(std::string_view operation, const KVCache& cache) {
  require_activations(operation, cache.keys, 3);
  require_activations(operation, cache.values, 3);
  if (!std::ranges::equal(cache.keys.dims().first(2), cache.values.dims().first(2))) {
    refuse(operation, "keys " + describe(cache.keys) + " and values " + describe(cache.values) +
                          " of the cache differ in capacity or heads");
  }
}

void require_rows_of(std::string_view operation, const Tensor& rows, const Tensor& cached) {
  if (rows.layout().rank() == 3 &&
      std::ranges::equal(rows.dims().subspan(1), cached.dims().subspan(1))) {
    return;
  }
  refuse(operation, describe(rows) + " does not fit the cache's " + describe(cached) +
                        "; it is [tokens, heads, size]");
}

void require_heads(const Tensor& q, const KVCache& cache) {
  const std::uint64_t heads = q.dims()[1];
  const std::uint64_t cached = cache.keys.dims()[1];
  if (q.dims()[2] != cache.keys.dims()[2] || cached == 0 || heads % cached != 0) {
    refuse(attention_name, describe(q) + " does not fit the keys " + describe(cache.keys) +
                               "; heads are a multiple of the cache's, sizes are the same");
  }
  for (const Tensor* tensor : {&cache.keys, &cache.values}) {
    const std::uint64_t size = tensor->dims()[2];
    if (size == 0 || size > hiptool_ops::attention_size) {
      throw Error(ErrorCode::unsupported, std::string(attention_name),
                  "attention: heads have 1 to 256 elements, not " + std::to_string(size));
    }
    if (tensor->layout().strides()[2] != 1 && size > 1) {
      refuse(attention_name, describe(*tensor) + " of the cache has elements apart (strides " +
                                 list_of(tensor->layout().strides()) + ")");
    }
  }
}

void require_options(const AttentionOptions& options) {
  if (options.window == 0u) refuse(attention_name, "a window of 0 shows no key");
  if (options.window && !options.is_causal) {
    refuse(attention_name, "a window is for causal attention");
  }
  if (!(options.softcap >= 0) || !std::isfinite(options.softcap)) {
    refuse(attention_name,
           "the softcap " + std::to_string(options.softcap) + " is negative or not finite");
  }
  if (options.scale && !std::isfinite(*options.scale)) {
    refuse(attention_name, "the scale " + std::to_string(*options.scale) + " is not finite");
  }
}

void require_sinks(const Backend& backend, const Tensor& q, const AttentionOptions& options) {
  const Tensor& sinks = *options.sinks;
  require_device(backend, attention_name, std::array<const Tensor*, 1>{&sinks});
  require_activations(attention_name, sinks, 1);
  if (!options.is_causal) refuse(attention_name, "sinks are for causal attention");
  if (sinks.dims()[0] != q.dims()[1] || !sinks.layout().is_contiguous()) {
    refuse(attention_name, "sinks " + describe(sinks) + " are not one for each head of " +
                               describe(q) + ", contiguous");
  }
}

hiptool_ops::HeadStrides strides_of(const Tensor& tensor) {
  return {tensor.layout().strides()[0], tensor.layout().strides()[1]};
}

/// Blocks with a row each are more of them, but each one reads the keys by itself.
bool has_many_rows(const Backend& backend, const hiptool_ops::Attention& all, std::uint64_t tiles) {
  return all.tokens * all.group >= hiptool_ops::attention_rows / 2 &&
         tiles >= state_of(backend).multiprocessors / 4;
}

void launch_attention(const Backend& backend, const Tensor& q, const KVCache& cache,
                      const AttentionOptions& options, Tensor& out) {
  hiptool_ops::Attention all{};
  all.tokens = q.dims()[0];
  all.heads = q.dims()[1];
  all.group = all.heads / cache.keys.dims()[1];
  all.key_size = q.dims()[2];
  all.value_size = cache.values.dims()[2];
  all.first = options.first_position;
  all.window = options.window.value_or(std::numeric_limits<std::uint64_t>::max());
  all.query = strides_of(q);
  all.key = strides_of(cache.keys);
  all.value = strides_of(cache.values);
  all.out = strides_of(out);
  const double usual_scale = 1 / std::sqrt(static_cast<double>(all.key_size));
  all.scale = static_cast<float>(options.scale.value_or(usual_scale));
  all.softcap = static_cast<float>(options.softcap);
  all.key_pieces = has_whole_pieces(cache.keys) ? 1 : 0;
  all.value_pieces = has_whole_pieces(cache.values) ? 1 : 0;
  LaunchConfig config;
  config.block.x = hiptool_ops::layer_threads;
  const std::uint64_t tiles =
      ceil_divide(all.tokens * all.group, hiptool_ops::attention_rows) * cache.keys.dims()[1];
  if (has_many_rows(backend, all, tiles)) {
    config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, 0x7FFFFFFF));
    config.shared_bytes = hiptool_ops::attention_rows_bytes(all.key_size);
    launch(state_of(backend).kernel("ops_attention_many", "hiptool_attention_rows_f32"), config,
           backend.stream(), all, q.address(), cache.keys.address(), cache.values.address(),
           options.sinks ? options.sinks->address() : nullptr, out.address());
    return;
  }
  config.grid.x =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(all.tokens * all.heads, 0x7FFFFFFF));
  const std::uint64_t floats = hiptool_ops::attention_extra +
                               hiptool_ops::attention_parts * all.value_size +
                               (all.key_size + 3) / 4 * 4;
  config.shared_bytes = static_cast<std::uint32_t>(floats * sizeof(float));
  if (options.sinks) {
    launch(state_of(backend).kernel("ops_attention", "hiptool_attention_sinks_f32"), config,
           backend.stream(), all, q.address(), cache.keys.address(), cache.values.address(),
           options.sinks->address(), out.address());
    return;
  }
  launch(state_of(backend).kernel("ops_attention", "hiptool_attention_f32"), config,
         backend.stream(), all, q.address(), cache.keys.address(), cache.values.address(),
         out.address());
}

/// Without a mask all tokens that use the same keys are heads of one token, the last of the cache:
/// [tokens, heads, size] becomes [1, heads x tokens, size].
Tensor by_heads(const Tensor& tensor) {
  return tensor.with_layout(tensor.layout().transpose(0, 1));
}

void attend_to_all(const Backend& backend, const Tensor& q, const KVCache& cache,
                   const AttentionOptions& options, Tensor& out) {
  const std::uint64_t rows = q.dims()[0] * q.dims()[1];
  const Tensor queries = copy(backend, by_heads(q));
  Tensor whole = backend.empty(DType::f32, {1, rows, out.dims()[2]});
  AttentionOptions last = options;
  last.first_position = cache.keys.dims()[0] - 1;
  launch_attention(backend, queries.with_layout(Layout{1, rows, q.dims()[2]}), cache, last, whole);
  Tensor results = by_heads(out);
  copy_into(backend, results, whole.with_layout(Layout(results.dims())));
}

}  // namespace

KVCache make_kv_cache(const Backend& backend, std::uint64_t capacity, std::uint64_t heads,
                      std::uint64_t key_size, std::uint64_t value_size) {
  return {backend.empty(DType::f32, {capacity, heads, key_size}),
          backend.empty(DType::f32, {capacity, heads, value_size})};
}

void kv_append(const Backend& backend, KVCache& cache, const Tensor& keys, const Tensor& values,
               std::uint64_t position) {
  constexpr std::string_view name = "kv_append";
  require_cache(name, cache);
  require_activations(name, keys, 3);
  require_activations(name, values, 3);
  require_rows_of(name, keys, cache.keys);
  require_rows_of(name, values, cache.values);
  if (keys.dims()[0] != values.dims()[0]) {
    refuse(name, describe(keys) + " and " + describe(values) + " are of different tokens");
  }
  const std::uint64_t tokens = keys.dims()[0];
  require_positions(name, cache, position, tokens);
  const auto rows = [&](const Tensor& cached) {
    return cached.with_layout(cached.layout().narrow(0, position, tokens));
  };
  Tensor new_keys = rows(cache.keys);
  Tensor new_values = rows(cache.values);
  copy_into(backend, new_keys, keys);
  copy_into(backend, new_values, values);
}

void attention_into(const Backend& backend, Tensor& out, const Tensor& q, const KVCache& cache,
                    const AttentionOptions& options) {
  const std::array<const Tensor*, 4> tensors{&q, &cache.keys, &cache.values, &out};
  require_device(backend, attention_name, tensors);
  require_activations(attention_name, q, 3);
  require_cache(attention_name, cache);
  require_heads(q, cache);
  require_options(options);
  if (options.sinks) require_sinks(backend, q, options);
  require_output(attention_name, std::span(tensors).first(3), out, DType::f32,
                 std::array{q.dims()[0], q.dims()[1], cache.values.dims()[2]});
  require_separate(attention_name, std::span(tensors).first(3), out);
  if (options.sinks) {
    require_separate(attention_name, std::array<const Tensor*, 1>{&*options.sinks}, out);
  }
  if (options.is_causal) {
    require_positions(attention_name, cache, options.first_position, q.dims()[0]);
  } else if (cache.keys.dims()[0] == 0) {
    refuse(attention_name, "the cache has no positions");
  }
  if (out.element_count() == 0) return;
  if (!options.is_causal) {
    attend_to_all(backend, q, cache, options, out);
    return;
  }
  const Tensor queries = with_neighbours(backend, q);
  if (out.layout().strides()[2] == 1 || out.dims()[2] == 1) {
    launch_attention(backend, queries, cache, options, out);
    return;
  }
  Tensor whole = backend.empty(DType::f32, out.dims());
  launch_attention(backend, queries, cache, options, whole);
  copy_into(backend, out, whole);
}

Tensor attention(const Backend& backend, const Tensor& q, const KVCache& cache,
                 const AttentionOptions& options) {
  require_activations(attention_name, q, 3);
  require_cache(attention_name, cache);
  Tensor out = backend.empty(DType::f32, {q.dims()[0], q.dims()[1], cache.values.dims()[2]});
  attention_into(backend, out, q, cache, options);
  return out;
}

}  // namespace hiptool::ops
