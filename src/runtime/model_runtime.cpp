// SPDX-License-Identifier: MIT
#include "hiptool/model_runtime.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_rows.hpp"
#include "runtime/decoder_memory.hpp"
#include "runtime/decoder_rope.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool {
namespace {

using runtime::DecoderMemory;
using runtime::DecoderWeights;
using runtime::DeviceMatrix;
using runtime::FindWeight;
using runtime::LayerWeights;

FindWeight weights_of(const Backend& backend, const LoadedModel& model) {
  return [&](const std::string& tensor) { return model.weight(tensor, backend.device()); };
}

FindWeight weights_of(const Backend& backend, const ModelFile& model,
                      const ModelRuntime::BuffersByName& weights) {
  return [&](const std::string& tensor) {
    const TensorInfo* const info = model.find(tensor);
    const auto found = weights.find(tensor);
    if (info == nullptr || found == weights.end()) {
      throw Error(ErrorCode::not_found, "make runtime", "weight '" + tensor + "' is missing",
                  "pass all tensors that the specification names");
    }
    const Buffer& bytes = found->second;
    if (!bytes.has_device() || !(bytes.device() == backend.device())) {
      throw Error(ErrorCode::invalid_argument, "make runtime",
                  "weight '" + tensor + "' is not on " + backend.device().id(),
                  "copy all weights to the device that computes");
    }
    return Weight{bytes, info->type, info->shape};
  };
}

void require_heads(const DecoderSpec& spec) {
  constexpr std::uint64_t most = 256;  // of ops::attention
  if (spec.key_length <= most && spec.value_length <= most) return;
  throw Error(ErrorCode::unsupported, "make runtime",
              "heads of " + std::to_string(spec.key_length) + " and " +
                  std::to_string(spec.value_length) + " elements; there are kernels for up to 256",
              "use a model with smaller heads");
}

}  // namespace

struct ModelRuntime::State {
  Backend backend;
  // Keeps the memory of element types that weights point to.
  ModelFile model;
  DecoderSpec spec;
  std::uint64_t context_tokens;
  std::uint64_t size_bytes;
  std::optional<DecoderWeights> weights;
  std::optional<DecoderMemory> memory;
  std::optional<ops::RopeTables> tables;
  Probe probe = {};
  std::uint64_t position = 0;

  State(const Backend& with, ModelFile of, DecoderSpec described, const Options& options,
        const FindWeight& find)
      : backend(with),
        model(std::move(of)),
        spec(std::move(described)),
        context_tokens(options.context_tokens),
        size_bytes(runtime::decoder_memory_bytes(spec, options)) {
    require_heads(spec);
    runtime::check_weights(spec, find);
    memory.emplace(backend, spec, options);
    weights = runtime::find_weights(backend, spec, find);
    tables = runtime::decoder_rope_tables(backend, spec.rope, context_tokens, find);
  }

  void require_step(std::span<const std::uint32_t> ids) const;
  void require_ids(std::span<const std::uint32_t> ids) const;
  Tensor run_chunk(const Tensor& ids, std::uint64_t first);
  void attend(std::size_t number, const Tensor& x, std::uint64_t first);
  void feed_forward(std::size_t number, const Tensor& x, std::uint64_t first);
  Tensor product(const DeviceMatrix& matrix, const Tensor& inputs, const Tensor& scratch) const;
  void turn(const Tensor& elements, std::uint64_t heads, const std::optional<Tensor>& norm,
            std::uint64_t first) const;
  Tensor logits(const Tensor& x, std::uint64_t position_of_last);
  void report(const char* name, std::optional<std::size_t> layer, std::uint64_t first,
              const Tensor& values) const {
    if (probe) probe({name, layer, first, values});
  }
};

void ModelRuntime::State::require_step(std::span<const std::uint32_t> ids) const {
  if (!memory) {
    throw Error(ErrorCode::invalid_argument, "decode", "the runtime was cleaned up",
                "make a new one");
  }
  if (ids.empty()) {
    throw Error(ErrorCode::invalid_argument, "decode", "there are no tokens", "pass at least one");
  }
  if (ids.size() > context_tokens - position) {
    throw Error(ErrorCode::out_of_bounds, "decode",
                std::to_string(ids.size()) + " tokens after " + std::to_string(position) +
                    " exceed the context of " + std::to_string(context_tokens),
                "make the runtime with a larger context, or reset it");
  }
  require_ids(ids);
}

void ModelRuntime::State::require_ids(std::span<const std::uint32_t> ids) const {
  const auto beyond =
      std::ranges::find_if(ids, [&](std::uint32_t id) { return id >= spec.vocabulary; });
  if (beyond == ids.end()) return;
  throw Error(ErrorCode::out_of_bounds, "decode",
              "token " + std::to_string(*beyond) + " is not in the vocabulary of " +
                  std::to_string(spec.vocabulary),
              "use ids of this model's tokenizer");
}

// W x + b in scratch memory.
Tensor ModelRuntime::State::product(const DeviceMatrix& matrix, const Tensor& inputs,
                                    const Tensor& scratch) const {
  const Tensor out = DecoderMemory::rows(scratch, inputs.dims()[0], matrix.weight.rows());
  ops::quantised_matmul_into(backend, matrix.weight, inputs, out);
  if (matrix.bias) ops::row_bias_into(backend, out, *matrix.bias, out);
  return out;
}

// Norms of heads and rotation, in place.
void ModelRuntime::State::turn(const Tensor& elements, std::uint64_t heads,
                               const std::optional<Tensor>& norm, std::uint64_t first) const {
  const std::uint64_t tokens = elements.dims()[0];
  const Tensor by_head = elements.with_layout(Layout{tokens, heads, spec.key_length});
  if (norm) ops::rmsnorm_into(backend, by_head, *norm, spec.norm_epsilon, by_head);
  const auto table = [&](const Tensor& whole) {
    return whole.with_layout(whole.layout().narrow(0, first, tokens));
  };
  ops::rope_into(backend, by_head, table(tables->cosines), table(tables->sines), spec.rope.pairs,
                 by_head);
}

void ModelRuntime::State::attend(std::size_t number, const Tensor& x, std::uint64_t first) {
  const DecoderLayer& layer = spec.layers[number];
  const LayerWeights& own = weights->layers[number];
  const ops::KVCache& cache = memory->caches[number];
  const std::uint64_t tokens = x.dims()[0];
  const Tensor normed = DecoderMemory::rows(memory->normed, tokens, spec.embedding);
  ops::rmsnorm_into(backend, x, own.attention_norm, spec.norm_epsilon, normed);
  report("attention_norm", number, first, normed);
  const Tensor q = product(own.q, normed, memory->q);
  report("q", number, first, q);
  const Tensor k = product(own.k, normed, memory->k);
  report("k", number, first, k);
  const Tensor v = product(own.v, normed, memory->v);
  report("v", number, first, v);
  turn(q, layer.heads, own.q_norm, first);
  report("rotated_q", number, first, q);
  turn(k, layer.kv_heads, own.k_norm, first);
  report("rotated_k", number, first, k);

  ops::kv_append(backend, cache, k.with_layout(Layout{tokens, layer.kv_heads, spec.key_length}),
                 v.with_layout(Layout{tokens, layer.kv_heads, spec.value_length}), first);
  ops::AttentionOptions options;
  options.first_position = first;
  if (layer.window > 0) options.window = layer.window;
  options.scale = spec.attention_scale;
  const Tensor attention =
      DecoderMemory::rows(memory->attention, tokens, layer.heads * spec.value_length);
  ops::attention_into(backend, q.with_layout(Layout{tokens, layer.heads, spec.key_length}), cache,
                      options,
                      attention.with_layout(Layout{tokens, layer.heads, spec.value_length}));
  report("attention", number, first, attention);
  const Tensor output = product(own.attention_output, attention, memory->sum);
  report("attention_output", number, first, output);
  ops::add_into(backend, x, output, x);
  report("middle", number, first, x);
}

void ModelRuntime::State::feed_forward(std::size_t number, const Tensor& x, std::uint64_t first) {
  const LayerWeights& own = weights->layers[number];
  const Tensor normed = DecoderMemory::rows(memory->normed, x.dims()[0], spec.embedding);
  ops::rmsnorm_into(backend, x, own.feed_forward_norm, spec.norm_epsilon, normed);
  report("feed_forward_norm", number, first, normed);
  const Tensor gate = product(own.gate, normed, memory->gate);
  report("gate", number, first, gate);
  const Tensor up = product(own.up, normed, memory->up);
  report("up", number, first, up);
  ops::gate_into(backend, ops::Gate::silu, gate, up, gate);
  report("activation", number, first, gate);
  const Tensor down = product(own.down, gate, memory->sum);
  report("down", number, first, down);
  ops::add_into(backend, x, down, x);
  report("output", number, first, x);
}

Tensor ModelRuntime::State::logits(const Tensor& x, std::uint64_t position_of_last) {
  const Tensor last = x.with_layout(x.layout().narrow(0, x.dims()[0] - 1, 1));
  const Tensor normed = DecoderMemory::rows(memory->normed, 1, spec.embedding);
  ops::rmsnorm_into(backend, last, weights->output_norm, spec.norm_epsilon, normed);
  report("output_norm", std::nullopt, position_of_last, normed);
  const Tensor out =
      product(weights->output, normed, backend.empty(DType::f32, {1, spec.vocabulary}));
  report("logits", std::nullopt, position_of_last, out);
  return out.with_layout(Layout{spec.vocabulary});
}

// All layers; the result is in scratch memory.
Tensor ModelRuntime::State::run_chunk(const Tensor& ids, std::uint64_t first) {
  const Tensor x = DecoderMemory::rows(memory->x, ids.element_count(), spec.embedding);
  ops::embedding_rows_into(backend, weights->embedding, ids, x);
  report("embedding", std::nullopt, first, x);
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    attend(layer, x, first);
    feed_forward(layer, x, first);
  }
  return x;
}

ModelRuntime::ModelRuntime(const Backend& backend, const LoadedModel& model, DecoderSpec spec)
    : ModelRuntime(backend, model, std::move(spec), Options{}) {}

ModelRuntime::ModelRuntime(const Backend& backend, const LoadedModel& model, DecoderSpec spec,
                           const Options& options)
    : state_(std::make_unique<State>(backend, model.model(), std::move(spec), options,
                                     weights_of(backend, model))) {}

ModelRuntime::ModelRuntime(const Backend& backend, const ModelFile& model,
                           const BuffersByName& weights, DecoderSpec spec, const Options& options)
    : state_(std::make_unique<State>(backend, model, std::move(spec), options,
                                     weights_of(backend, model, weights))) {}

ModelRuntime::~ModelRuntime() = default;
ModelRuntime::ModelRuntime(ModelRuntime&&) noexcept = default;
ModelRuntime& ModelRuntime::operator=(ModelRuntime&&) noexcept = default;

std::uint64_t ModelRuntime::memory_bytes(const DecoderSpec& spec, const Options& options) {
  return runtime::decoder_memory_bytes(spec, options);
}

std::uint64_t ModelRuntime::memory_bytes() const noexcept { return state_->size_bytes; }

Tensor ModelRuntime::decode_step(std::span<const std::uint32_t> ids) {
  State& state = *state_;
  state.require_step(ids);
  const std::array<std::uint64_t, 1> dims{ids.size()};
  const Backend& backend = state.backend;
  const Tensor all =
      Tensor::from_host<std::uint32_t>({backend.allocator(), backend.stream()}, ids, dims);
  const std::uint64_t chunk = state.memory->chunk_tokens();
  std::optional<Tensor> x;
  for (std::uint64_t at = 0; at < ids.size(); at += chunk) {
    const std::uint64_t count = std::min<std::uint64_t>(chunk, ids.size() - at);
    x = state.run_chunk(all.with_layout(all.layout().narrow(0, at, count)), state.position + at);
  }
  const Tensor logits = state.logits(*x, state.position + ids.size() - 1);
  state.position += ids.size();
  return logits;
}

std::uint64_t ModelRuntime::position() const noexcept { return state_->position; }

void ModelRuntime::reset() noexcept { state_->position = 0; }

void ModelRuntime::observe(Probe probe) { state_->probe = std::move(probe); }

void ModelRuntime::cleanup(double timeout_s) {
  State& state = *state_;
  if (!state.memory) return;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (!state.backend.stream().is_done()) {
    if (std::chrono::duration<double>(Clock::now() - start).count() >= timeout_s) {
      throw Error(ErrorCode::timed_out, "clean up runtime",
                  state.backend.device().id() + " has not finished its work after " +
                      std::to_string(timeout_s) + " s; its memory is kept",
                  "call again later, or end the process");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(timeout_s / 8, 1e-3)));
  }
  state.backend.synchronize();
  state.weights.reset();
  state.tables.reset();
  state.memory.reset();
}

const DecoderSpec& ModelRuntime::spec() const noexcept { return state_->spec; }

const Backend& ModelRuntime::backend() const noexcept { return state_->backend; }

}  // namespace hiptool
