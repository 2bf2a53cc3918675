// SPDX-License-Identifier: MIT
#include "hiptool/model_runtime.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_experts.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/quantised.hpp"
#include "runtime/decoder_attention.hpp"
#include "runtime/decoder_delta.hpp"
#include "runtime/decoder_memory.hpp"
#include "runtime/decoder_part.hpp"
#include "runtime/decoder_places.hpp"
#include "runtime/decoder_products.hpp"
#include "runtime/decoder_rope.hpp"
#include "runtime/decoder_steps.hpp"
#include "runtime/decoder_weights.hpp"
#include "runtime/token_graph.hpp"

namespace hiptool {
namespace {

using runtime::apply_gate;
using runtime::DecoderMemory;
using runtime::DecoderPart;
using runtime::DecoderPlaces;
using runtime::DecoderWeights;
using runtime::DeviceExpertMatrices;
using runtime::DeviceMatrix;
using runtime::ExpertWeights;
using runtime::FindWeight;
using runtime::LayerWeights;
using runtime::MlpWeights;
using runtime::normed_or_same;
using runtime::product;
using runtime::weights_of;

}  // namespace

struct ModelRuntime::State {
  // Keeps the memory of element types that weights point to.
  ModelFile model;
  DecoderSpec spec;
  std::uint64_t context_tokens;
  std::uint64_t chunk_tokens;
  std::vector<Backend> backends;
  DecoderPlaces places;
  std::uint64_t size_bytes = 0;
  std::optional<DecoderWeights> weights;
  std::vector<DecoderPart> parts;  // by Backend; none after cleanup()
  Probe probe = {};
  std::uint64_t position = 0;
  std::size_t state_copy = 0;      // of layers with a state: the one that has the tokens so far
  bool has_token_kernels = false;  // after a step of one token
  std::optional<runtime::TokenGraph> token_graph;  // where it is to be tried

  State(std::span<const Backend> all, ModelFile of, DecoderSpec described, const Options& options,
        const FindWeight& find)
      : model(std::move(of)),
        spec(std::move(described)),
        context_tokens(options.context_tokens),
        chunk_tokens(runtime::decoder_chunk_tokens(options)) {
    static_cast<void>(memory_bytes(spec, options));  // refuses options
    runtime::require_heads(spec);
    runtime::require_rope(spec.rope, context_tokens);
    backends = runtime::backends_in_use(all, spec, find);
    places = runtime::find_places(backends, spec, find);
    runtime::check_weights(backends, places, spec, find);
    for (std::size_t place = 0; place < backends.size(); ++place) {
      parts.emplace_back(backends[place], spec, runtime::layers_at(places, place), options);
      size_bytes += parts.back().memory.size_bytes();
    }
    weights = runtime::find_weights(backends, places, spec, find);
    // States have two copies, of which each step writes the other one.
    const bool has_states = std::ranges::any_of(spec.layers, &DecoderLayer::has_delta);
    if (options.uses_graphs && !has_states && places.are_layers_together()) {
      token_graph.emplace(parts[places.layers.empty() ? 0 : places.layers.front()].backend);
    }
    const std::vector<double> frequencies =
        runtime::decoder_frequencies(backends, spec.rope, context_tokens, find);
    const bool has_local_rope = std::ranges::any_of(spec.layers, &DecoderLayer::has_local_rope);
    std::vector<double> local_frequencies;
    if (has_local_rope) {
      local_frequencies =
          runtime::decoder_frequencies(backends, spec.local_rope, context_tokens, find);
    }
    for (DecoderPart& part : parts) {
      part.tables =
          runtime::decoder_rope_tables(part.backend, spec.rope, frequencies, context_tokens);
      if (!has_local_rope) continue;
      part.local_tables = runtime::decoder_rope_tables(part.backend, spec.local_rope,
                                                       local_frequencies, context_tokens);
    }
  }

  void require_step(std::span<const std::uint32_t> ids) const;
  void require_room(std::uint64_t count) const;
  void require_ids(std::span<const std::uint32_t> ids) const;
  void require_ids(const Tensor& ids) const;
  Tensor run_step(const Tensor& ids);
  Tensor run_chunk(const Tensor& ids, std::uint64_t first);
  void queue_layers(Tensor& x, std::uint64_t first);
  bool launch_recorded(const Tensor& x, std::uint64_t first);
  void attend(std::size_t number, Tensor& x, std::uint64_t first);
  Tensor attended(std::size_t number, const ops::ProductInput& input, std::uint64_t first);
  runtime::StateTurn turn_of(std::uint64_t first) const;
  void feed_forward(std::size_t number, Tensor& x, std::uint64_t first);
  bool has_norms_in_products() const { return !probe && !spec.has_layer_norms; }
  ops::ProductInput norm_in_front(std::size_t number, const Tensor& x,
                                  const std::optional<Tensor>& norm, bool is_only_for_products);
  Tensor activation(std::size_t number, const ops::ProductInput& input, std::uint64_t first);
  Tensor experts(std::size_t number, const Tensor& normed, std::uint64_t first);
  Tensor moved(const Tensor& values, std::size_t from, std::size_t to);
  void truncate(std::uint64_t length) noexcept {
    for (DecoderPart& part : parts) part.memory.cache.truncate(length);
  }
  Tensor logits(const Tensor& x, std::uint64_t position_of_last);
  std::size_t place_of_last() const {
    return places.layers.empty() ? places.embedding : places.layers.back();
  }
  void report(const DecoderPart& part, const char* name, std::optional<std::size_t> layer,
              std::uint64_t first, const Tensor& values) const {
    if (probe) probe({name, layer, first, values, part.backend.stream()});
  }
};

void ModelRuntime::State::require_step(std::span<const std::uint32_t> ids) const {
  require_room(ids.size());
  require_ids(ids);
}

void ModelRuntime::State::require_room(std::uint64_t count) const {
  if (parts.empty()) {
    throw Error(ErrorCode::invalid_argument, "decode", "the runtime was cleaned up",
                "make a new one");
  }
  if (count == 0) {
    throw Error(ErrorCode::invalid_argument, "decode", "there are no tokens", "pass at least one");
  }
  if (count > context_tokens - position) {
    throw Error(ErrorCode::out_of_bounds, "decode",
                base::plain_count_of(count, "token") + " after " + std::to_string(position) +
                    " exceed the context of " + std::to_string(context_tokens),
                "make the runtime with a larger context, or reset it");
  }
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

void ModelRuntime::State::require_ids(const Tensor& ids) const {
  const Device& device = backends[places.embedding].device();
  if (ids.dtype() == DType::u32 && ids.layout().rank() == 1 && ids.device() == device) return;
  throw Error(ErrorCode::invalid_argument, "decode",
              "ids on the device are u32 [n] on " + device.id(),
              "copy them there, or pass ids of the host");
}

// Which copies of states a chunk reads and writes.
runtime::StateTurn ModelRuntime::State::turn_of(std::uint64_t first) const {
  const std::size_t next = 1 - state_copy;
  return {first > 0, first == position ? state_copy : next, next};
}

// What a part of a layer computes with; in memory where more than products read it.
ops::ProductInput ModelRuntime::State::norm_in_front(std::size_t number, const Tensor& x,
                                                     const std::optional<Tensor>& norm,
                                                     bool is_only_for_products) {
  const DecoderPart& part = parts[places.layers[number]];
  if (norm && is_only_for_products && has_norms_in_products()) {
    return runtime::input_of(part, spec, x, *norm);
  }
  return normed_or_same(part, spec, x, norm);
}

Tensor ModelRuntime::State::attended(std::size_t number, const ops::ProductInput& input,
                                     std::uint64_t first) {
  const DecoderLayer& layer = spec.layers[number];
  const LayerWeights& own = weights->layers[number];
  DecoderPart& part = parts[places.layers[number]];
  const auto say = [&](const char* name, const Tensor& values) {
    report(part, name, number, first, values);
  };
  if (layer.has_delta()) {
    return runtime::delta_attention(part, layer, number, own, input.x, turn_of(first),
                                    spec.norm_epsilon, say);
  }
  if (!probe) {
    const auto of_token = runtime::token_attention(part, spec, number, own, input, first);
    if (of_token) return *of_token;
    runtime::require_no_recording(part);
  }
  const Tensor normed = runtime::normed_input(part.backend, input);
  return runtime::softmax_attention(part, spec, number, own, normed, first, say);
}

void ModelRuntime::State::attend(std::size_t number, Tensor& x, std::uint64_t first) {
  const LayerWeights& own = weights->layers[number];
  DecoderPart& part = parts[places.layers[number]];
  const Backend& backend = part.backend;
  DecoderMemory& memory = part.memory;
  const auto say = [&](const char* name, const Tensor& values) {
    report(part, name, number, first, values);
  };
  // Side by side the feed-forward part reads attention's norm too.
  const bool is_only_for_products = !spec.layers[number].has_delta() && !spec.is_parallel;
  const ops::ProductInput input =
      norm_in_front(number, x, own.attention_norm, is_only_for_products);
  say("attention_norm", input.x);
  const Tensor attention = attended(number, input, first);
  if (!probe && !own.attention_output.bias && !own.attention_post_norm &&
      spec.residual_scale == 1) {
    Tensor scratch = DecoderMemory::rows(memory.sum, x.dims()[0], spec.embedding);
    ops::add_quantised_matmul_into(backend, x, own.attention_output.weight, attention, scratch);
    return;
  }
  Tensor output = product(backend, own.attention_output, attention, memory.sum);
  say("attention_output", output);
  if (own.attention_post_norm) {
    ops::rmsnorm_into(backend, output, output, *own.attention_post_norm, spec.norm_epsilon);
    say("attention_post_norm", output);
  }
  runtime::scale(part, output, spec.residual_scale);
  ops::add_into(backend, x, x, output);
  say("middle", x);
}

void ModelRuntime::State::feed_forward(std::size_t number, Tensor& x, std::uint64_t first) {
  const LayerWeights& own = weights->layers[number];
  const DecoderPart& part = parts[places.layers[number]];
  const Backend& backend = part.backend;
  const DecoderMemory& memory = part.memory;
  const auto say = [&](const char* name, const Tensor& values) {
    report(part, name, number, first, values);
  };
  // Side by side both compute with attention's norm, which is still in scratch memory.
  const ops::ProductInput input =
      spec.is_parallel ? DecoderMemory::rows(memory.normed, x.dims()[0], spec.embedding)
                       : norm_in_front(number, x, own.feed_forward_norm, own.mlp.has_value());
  say("feed_forward_norm", input.x);
  if (own.mlp && !probe && !own.mlp->down.bias && !own.feed_forward_post_norm &&
      spec.residual_scale == 1) {
    Tensor scratch = DecoderMemory::rows(memory.sum, x.dims()[0], spec.embedding);
    ops::add_quantised_matmul_into(backend, x, own.mlp->down.weight,
                                   activation(number, input, first), scratch);
    return;
  }
  Tensor down = own.mlp
                    ? product(backend, own.mlp->down, activation(number, input, first), memory.sum)
                    : experts(number, input.x, first);
  say("down", down);
  if (own.feed_forward_post_norm) {
    ops::rmsnorm_into(backend, down, down, *own.feed_forward_post_norm, spec.norm_epsilon);
    say("feed_forward_post_norm", down);
  }
  runtime::scale(part, down, spec.residual_scale);
  ops::add_into(backend, x, x, down);
  say("output", x);
}

Tensor ModelRuntime::State::activation(std::size_t number, const ops::ProductInput& input,
                                       std::uint64_t first) {
  const MlpWeights& own = *weights->layers[number].mlp;
  const DecoderPart& part = parts[places.layers[number]];
  const Backend& backend = part.backend;
  if (!probe) {
    const auto gated = runtime::gated_products(backend, spec, own, part.memory, input);
    if (gated) return *gated;
  }
  const std::vector<Tensor> both =
      runtime::products(backend, {{own.gate, part.memory.gate}, {own.up, part.memory.up}}, input);
  Tensor gate = both[0];
  const Tensor& up = both[1];
  report(part, "gate", number, first, gate);
  report(part, "up", number, first, up);
  apply_gate(backend, spec, gate, up);
  report(part, "activation", number, first, gate);
  return gate;
}

Tensor ModelRuntime::State::experts(std::size_t number, const Tensor& normed, std::uint64_t first) {
  const ExpertWeights& own = *weights->layers[number].experts;
  const ExpertsSpec& spec_of_layer = spec.layers[number].experts;
  const DecoderPart& part = parts[places.layers[number]];
  const Backend& backend = part.backend;
  const DecoderMemory& memory = part.memory;
  const std::uint64_t tokens = normed.dims()[0];
  const std::uint64_t used = spec_of_layer.used;
  // Probes see the slots of a token as one row.
  const auto say = [&](const char* name, const Tensor& slots) {
    report(part, name, number, first,
           slots.with_layout(Layout{tokens, slots.element_count() / tokens}));
  };
  const Tensor scores = product(backend, own.router, normed, memory.scores);
  say("router", scores);
  ops::ExpertRouting routing{DecoderMemory::rows(memory.expert_ids, tokens, used),
                             DecoderMemory::rows(memory.expert_weights, tokens, used)};
  runtime::route(backend, routing, scores, own, spec_of_layer);
  say("experts", routing.ids);
  say("expert_weights", routing.weights);
  const auto multiply = [&](const DeviceExpertMatrices& matrices, const Tensor& inputs,
                            const Tensor& scratch) {
    Tensor out = DecoderMemory::rows(scratch, tokens * used, matrices.weights.rows());
    ops::expert_matmul_into(backend, out, matrices.weights, routing.ids, inputs,
                            matrices.bias ? &*matrices.bias : nullptr);
    return out;
  };
  Tensor gate = multiply(own.gate, normed, memory.gate);
  say("gate", gate);
  const Tensor up = multiply(own.up, normed, memory.up);
  say("up", up);
  apply_gate(backend, spec, gate, up);
  say("activation", gate);
  const Tensor slots = multiply(own.down, gate, memory.slots);
  say("expert_down", slots);
  Tensor sum = DecoderMemory::rows(memory.sum, tokens, spec.embedding);
  ops::add_experts_into(backend, sum, slots, routing.weights);
  if (own.shared) {
    say("routed", sum);
    runtime::add_shared(part, spec, own, normed, sum, say);
  }
  return sum;
}

// Rows of the embedding's width where the next step computes.
Tensor ModelRuntime::State::moved(const Tensor& values, std::size_t from, std::size_t to) {
  if (from == to) return values;
  Tensor out = DecoderMemory::rows(parts[to].memory.x, values.dims()[0], spec.embedding);
  runtime::hand_over(values, parts[from], out, parts[to]);
  return out;
}

Tensor ModelRuntime::State::logits(const Tensor& x, std::uint64_t position_of_last) {
  const Tensor last = x.with_layout(x.layout().narrow(0, x.dims()[0] - 1, 1));
  const DecoderPart& norm = parts[places.output_norm];
  const Tensor x_of_norm = moved(last, place_of_last(), places.output_norm);
  ops::ProductInput input = runtime::input_of(norm, spec, x_of_norm, weights->output_norm);
  if (!has_norms_in_products() || places.output != places.output_norm) {
    Tensor normed = input.norm->normed;
    runtime::norm_into(norm, spec, normed, x_of_norm, weights->output_norm);
    report(norm, "output_norm", std::nullopt, position_of_last, normed);
    input = moved(normed, places.output_norm, places.output);
  }
  const DecoderPart& output = parts[places.output];
  Tensor out = product(output.backend, weights->output, input,
                       output.backend.empty(DType::f32, {1, spec.vocabulary}));
  if (spec.logit_scale != 1 || spec.logit_softcap != 0) {
    report(output, "products", std::nullopt, position_of_last, out);
    runtime::scale_logits(output, spec, out);
  }
  report(output, "logits", std::nullopt, position_of_last, out);
  return out.with_layout(Layout{spec.vocabulary});
}

Tensor ModelRuntime::State::run_step(const Tensor& ids) {
  truncate(position);  // of a step that was not completed
  const std::uint64_t tokens = ids.element_count();
  std::optional<Tensor> x;
  for (std::uint64_t at = 0; at < tokens; at += chunk_tokens) {
    const std::uint64_t count = std::min(chunk_tokens, tokens - at);
    x = run_chunk(ids.with_layout(ids.layout().narrow(0, at, count)), position + at);
  }
  const Tensor of_last = logits(*x, position + tokens - 1);
  position += tokens;
  state_copy = 1 - state_copy;
  return of_last;
}

// All layers; the result is in scratch memory.
Tensor ModelRuntime::State::run_chunk(const Tensor& ids, std::uint64_t first) {
  const DecoderPart& start = parts[places.embedding];
  Tensor x = DecoderMemory::rows(start.memory.x, ids.element_count(), spec.embedding);
  ops::embedding_rows_into(start.backend, x, weights->embedding, ids);
  runtime::scale(start, x, spec.embedding_scale);
  report(start, "embedding", std::nullopt, first, x);
  if (!places.layers.empty()) x = moved(x, places.embedding, places.layers.front());
  if (!launch_recorded(x, first)) queue_layers(x, first);
  for (DecoderPart& part : parts) part.memory.cache.advance(ids.element_count());
  return x;
}

void ModelRuntime::State::queue_layers(Tensor& x, std::uint64_t first) {
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    if (layer > 0) x = moved(x, places.layers[layer - 1], places.layers[layer]);
    attend(layer, x, first);
    feed_forward(layer, x, first);
  }
  has_token_kernels = has_token_kernels || (x.dims()[0] == 1 && !probe);
}

// By one call, where this is a step of one token.
bool ModelRuntime::State::launch_recorded(const Tensor& x, std::uint64_t first) {
  if (!token_graph || x.dims()[0] != 1 || !has_token_kernels || probe) return false;
  DecoderPart& part = parts[places.layers.front()];
  Tensor of_layers = x;
  if (!token_graph->launch(part, first, [&] { queue_layers(of_layers, first); })) return false;
  for (std::size_t layer = 0; layer < part.memory.cache.layer_count(); ++layer) {
    part.memory.cache.mark_appended(layer, 1);
  }
  return true;
}

ModelRuntime::ModelRuntime(const Backend& backend, const LoadedModel& model, DecoderSpec spec)
    : ModelRuntime(backend, model, std::move(spec), Options{}) {}

ModelRuntime::ModelRuntime(const Backend& backend, const LoadedModel& model, DecoderSpec spec,
                           const Options& options)
    : ModelRuntime(std::span(&backend, 1), model, std::move(spec), options) {}

ModelRuntime::ModelRuntime(std::span<const Backend> backends, const LoadedModel& model,
                           DecoderSpec spec, const Options& options)
    : state_(std::make_unique<State>(backends, model.model(), std::move(spec), options,
                                     weights_of(model))) {}

ModelRuntime::ModelRuntime(const Backend& backend, const ModelFile& model,
                           const BuffersByName& weights, DecoderSpec spec, const Options& options)
    : state_(std::make_unique<State>(std::span(&backend, 1), model, std::move(spec), options,
                                     weights_of(model, weights))) {}

ModelRuntime::~ModelRuntime() = default;
ModelRuntime::ModelRuntime(ModelRuntime&&) noexcept = default;
ModelRuntime& ModelRuntime::operator=(ModelRuntime&&) noexcept = default;

std::uint64_t ModelRuntime::memory_bytes(const DecoderSpec& spec, const Options& options) {
  return runtime::decoder_memory_bytes(spec, runtime::all_layers(spec), options);
}

std::uint64_t ModelRuntime::scratch_bytes(const DecoderSpec& spec, const Options& options) {
  return runtime::decoder_scratch_bytes(spec, runtime::all_layers(spec), options);
}

ModelRuntime::State& ModelRuntime::state() const {
  if (state_) return *state_;
  throw Error(ErrorCode::invalid_argument, "use runtime", "the runtime was moved from");
}

std::uint64_t ModelRuntime::memory_bytes() const { return state().size_bytes; }

Tensor ModelRuntime::decode_step(std::span<const std::uint32_t> ids) {
  State& state = this->state();
  state.require_step(ids);
  const std::array<std::uint64_t, 1> dims{ids.size()};
  const Backend& backend = input_backend();
  return state.run_step(
      Tensor::from_host<std::uint32_t>({backend.allocator(), backend.stream()}, ids, dims));
}

Tensor ModelRuntime::decode_step(const Tensor& ids) {
  State& state = this->state();
  state.require_ids(ids);
  state.require_room(ids.element_count());
  return state.run_step(ids);
}

std::uint64_t ModelRuntime::position() const { return state().position; }

void ModelRuntime::reset() {
  state().position = 0;
  state().truncate(0);
}

void ModelRuntime::observe(Probe probe) { state().probe = std::move(probe); }

void ModelRuntime::cleanup(double timeout_s) {
  State& state = this->state();
  if (!(timeout_s >= 0)) {
    throw Error(ErrorCode::invalid_argument, "clean up runtime",
                "a limit of " + std::to_string(timeout_s) + " s", "choose 0 or more seconds");
  }
  runtime::wait_for(state.parts, timeout_s);
  for (const DecoderPart& part : state.parts) part.backend.synchronize();
  state.token_graph.reset();
  state.weights.reset();
  state.parts.clear();
}

const DecoderSpec& ModelRuntime::spec() const { return state().spec; }

const Backend& ModelRuntime::backend() const { return state().backends[state().places.output]; }

const Backend& ModelRuntime::input_backend() const {
  return state().backends[state().places.embedding];
}

}  // namespace hiptool
