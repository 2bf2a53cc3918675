// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "model_writer/decoder_values.hpp"
#include "reference/prove/reference_decoder.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_support.hpp"
#include "unit/runtime/stage_comparison.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

std::vector<double> reference_logits(const ModelFile& model, const std::vector<std::uint32_t>& ids,
                                     std::uint64_t sequence_tokens) {
  reference::ReferenceOptions options;
  options.sequence_tokens = sequence_tokens;
  return reference::ReferenceDecoder(model, DecoderSpec::read(model), options).decode(ids);
}

}  // namespace

namespace {

bool is_short_and_first_of_kind(const Golden& golden) {
  return golden.tokens <= 12 && is_first_of_kind(golden);
}

/// Compares the logits of those goldens with the reference and with transformers.
void compare_goldens(bool (*is_wanted)(const Golden&)) {
  Platforms platforms;
  const Backend backend(device(platforms));
  double largest = 0;
  for (const Golden& golden : goldens) {
    if (!is_wanted(golden)) continue;
    const std::string_view format = to_string(golden.format);
    CAPTURE(format);
    CAPTURE(golden.architecture);
    CAPTURE(to_string(golden.rope));
    CAPTURE(golden.window);
    CAPTURE(golden.type);
    CAPTURE(golden.tokens);
    const TemporaryFolder folder;
    const ModelFile model = made_model(folder, golden);
    const LoadedModel loaded = load_model(model, backend.device());
    ModelRuntime runtime(backend, loaded, DecoderSpec::read(model), of_context(golden.tokens));
    const std::vector<std::uint32_t> ids = prompt_ids(golden.tokens);
    const std::vector<float> found = host_logits(runtime, ids);
    CHECK(runtime.position() == golden.tokens);
    const double difference =
        largest_difference(found, reference_logits(model, ids, golden.tokens)) / golden.deviation;
    CHECK(difference <= 1e-5);
    if (difference > largest) largest = difference;
    std::vector<double> kept;
    for (std::size_t i = 0; i < found.size(); i += 5) kept.push_back(found[i]);
    CHECK(largest_difference(kept, golden.logits) <= 1e-5 * golden.deviation);
  }
  MESSAGE("largest difference ", largest, " standard deviations");
}

}  // namespace

TEST_CASE("runtime: logits of the device are those of the reference and of transformers") {
  compare_goldens(is_short_and_first_of_kind);
}

TEST_CASE("runtime: long prompts, further rotations and windows have the logits of transformers") {
  compare_goldens([](const Golden& golden) { return !is_short_and_first_of_kind(golden); });
}

TEST_CASE("runtime: every type of weights computes what the reference computes") {
  Platforms platforms;
  const Backend backend(device(platforms));
  double largest = 0;
  std::vector<std::string> refused;
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    std::vector<std::string> types;
    for (const std::string_view type : model_writer::weight_types(format == ModelFormat::gguf)) {
      types.emplace_back(type);
    }
    if (format == ModelFormat::gguf) types.emplace_back("all");
    for (const std::string& type : types) {
      CAPTURE(type);
      const TemporaryFolder folder;
      const ModelFile model =
          made_model(folder, format, {"qwen2", RopeScaling::none, 0, false}, {type});
      const LoadedModel loaded = load_model(model, backend.device());
      const std::vector<std::uint32_t> ids = prompt_ids(3);
      try {
        ModelRuntime runtime(backend, loaded, DecoderSpec::read(model), of_context(4));
        const std::vector<double> expected = reference_logits(model, ids, 4);
        const double ratio =
            largest_difference(host_logits(runtime, ids), expected) / root_mean_square(expected);
        CHECK(ratio <= 1e-5);
        largest = std::max(largest, ratio);
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(std::string(error.what()).find("weight 'model.") == 0);
        CHECK(format == ModelFormat::safetensors);
        refused.push_back(type);
      }
    }
  }
  std::sort(refused.begin(), refused.end());
  const std::vector<std::string> without_kernels{"F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ"};
  CHECK(refused == without_kernels);
  MESSAGE("largest difference ", largest, " of the root mean square");
}

TEST_CASE("runtime: stages are those of the reference") {
  double largest = 0;
  for (const Golden& golden : goldens) {
    // Other lengths: a second one of longrope, and quantised types, which change no stage but
    // products.
    if (golden.tokens != 12) continue;
    CAPTURE(golden.architecture);
    CAPTURE(to_string(golden.rope));
    const LoadedSample sample(golden.format,
                              {golden.architecture, golden.rope, golden.window, golden.is_tied},
                              {golden.type});
    CHECK(sample.first_wrong(sample.spec(), &largest) == "");
  }
  MESSAGE("largest difference ", largest, " of a stage's root mean square");
}

TEST_CASE("runtime: rotations that no small model has") {
  const LoadedSample sample(ModelFormat::gguf, {"qwen3", RopeScaling::yarn, 3, false}, {"F32"});
  DecoderSpec spec = sample.spec();
  spec.rope.truncates = false;
  CHECK(sample.first_wrong(spec) == "0 rotated_q");
  ModelRuntime untruncated(sample.backend, sample.loaded, spec, of_context(16));
  CHECK(sample.first_wrong(untruncated, spec, {}) == "");
  spec.rope.dimensions = 14;
  spec.attention_scale = 0.5;
  ModelRuntime partial(sample.backend, sample.loaded, spec, of_context(16));
  CHECK(sample.first_wrong(partial, spec, {}) == "");
}

TEST_CASE("runtime: planted faults are found where they are") {
  const LoadedSample qwen2(ModelFormat::safetensors, {"qwen2", RopeScaling::none, 5, false},
                           {"F32"});
  DecoderSpec fault = qwen2.spec();
  CHECK(qwen2.first_wrong(fault) == "");
  ++fault.layers[1].window;
  CHECK(fault.layers[1].window == 6);
  CHECK(qwen2.first_wrong(fault) == "1 attention");
  fault = qwen2.spec();
  fault.rope.pairs = RopePairs::neighbours;
  CHECK(qwen2.first_wrong(fault) == "0 rotated_q");
  fault = qwen2.spec();
  fault.norm_epsilon = 1e-6;
  CHECK(qwen2.first_wrong(fault) == "0 attention_norm");
  fault = qwen2.spec();
  fault.layers[2].v.bias.clear();
  CHECK(qwen2.first_wrong(fault) == "2 v");
  fault = qwen2.spec();
  fault.attention_scale *= 1.001;
  CHECK(qwen2.first_wrong(fault) == "0 attention");
}

TEST_CASE("runtime: planted faults in experts, further norms and sinks are found there") {
  const LoadedSample experts(ModelFormat::gguf, {"qwen3moe"}, {"F32"});
  DecoderSpec fault = experts.spec();
  fault.layers[1].experts.is_normalised = false;
  CHECK(experts.first_wrong(fault) == "1 expert_weights");
  fault = experts.spec();
  std::swap(fault.layers[2].experts.gate, fault.layers[2].experts.up);
  CHECK(experts.first_wrong(fault) == "2 gate");
  const LoadedSample norms(ModelFormat::gguf, {"gemma3", RopeScaling::linear, 5, true}, {"F32"});
  fault = norms.spec();
  fault.layers[1].attention_post_norm = fault.layers[1].feed_forward_post_norm;
  CHECK(norms.first_wrong(fault) == "1 attention_post_norm");
  fault = norms.spec();
  fault.layers[2].feed_forward_post_norm = fault.layers[2].feed_forward_norm;
  CHECK(norms.first_wrong(fault) == "2 feed_forward_post_norm");
  const LoadedSample sinks(ModelFormat::gguf, {"gpt-oss", RopeScaling::yarn, 5, false}, {"F32"});
  fault = sinks.spec();
  fault.layers[1].sinks.clear();
  CHECK(sinks.first_wrong(fault) == "1 attention");
  fault = sinks.spec();
  fault.layers[2].experts.down.bias.clear();
  CHECK(sinks.first_wrong(fault) == "2 expert_down");
}

namespace {

/// A copy of an F32 matrix of 96 columns whose blocks of 24 rows, or of 24 columns of 144, come in
/// another order.
Buffer with_heads_in_order(const Device& device, const Buffer& matrix,
                           const std::vector<std::size_t>& order, bool by_columns) {
  std::vector<float> values(matrix.size_bytes() / sizeof(float));
  copy_d2h_and_wait(std::as_writable_bytes(std::span(values)), matrix);
  std::vector<float> moved(values.size());
  const std::size_t columns = by_columns ? 144 : 96;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t row = i / columns;
    std::size_t column = i % columns;
    std::size_t& place = by_columns ? column : row;
    place = order[place / 24] * 24 + place % 24;
    moved[i] = values[row * columns + column];
  }
  Buffer copy(device, matrix.size_bytes());
  copy_h2d_and_wait(copy, std::as_bytes(std::span(moved)));
  return copy;
}

}  // namespace

TEST_CASE("runtime: heads that use the keys of another head are found") {
  const LoadedSample sample(ModelFormat::safetensors, {"llama"}, {"F32"});
  ModelRuntime::BuffersByName weights = sample.buffers();
  const DecoderSpec spec = sample.spec();
  ModelRuntime same(sample.backend, sample.model, weights, spec, of_context(16));
  CHECK(sample.first_wrong(same, spec, {}) == "");
  // With queries and outputs in this order, head h has the keys of head h % 2.
  const std::vector<std::size_t> order{0, 2, 4, 1, 3, 5};
  const Device& device = sample.backend.device();
  Buffer& q = weights.at(spec.layers[1].q.weight);
  q = with_heads_in_order(device, q, order, false);
  Buffer& output = weights.at(spec.layers[1].attention_output.weight);
  output = with_heads_in_order(device, output, order, true);
  ModelRuntime fault(sample.backend, sample.model, weights, spec, of_context(16));
  CHECK(sample.first_wrong(fault, spec, {"q", "rotated_q", "attention"}) == "1 attention_output");
}

TEST_CASE("runtime: a prompt in chunks gives the bits of one that comes token by token") {
  const std::vector<std::uint32_t> ids = prompt_ids(13);
  for (const auto& [decoder, type, stages_of_layer] :
       {std::tuple{model_writer::SampleDecoder{"qwen3", RopeScaling::yarn, 5, true}, "Q4_0", 15u},
        std::tuple{model_writer::SampleDecoder{"qwen3moe"}, "Q4_K", 19u},
        std::tuple{model_writer::SampleDecoder{"gemma3", RopeScaling::linear, 5, true}, "Q8_0",
                   17u},
        std::tuple{model_writer::SampleDecoder{"gpt-oss", RopeScaling::yarn, 5, false}, "MXFP4",
                   19u}}) {
    const std::string architecture = decoder.architecture;
    CAPTURE(architecture);
    const LoadedSample sample(ModelFormat::gguf, decoder, {type});
    ModelRuntime whole(sample.backend, sample.loaded, sample.spec(), of_context(13));
    const std::vector<float> expected = host_logits(whole, ids);
    for (const std::uint64_t chunk : {1u, 3u, 8u}) {
      ModelRuntime chunks(sample.backend, sample.loaded, sample.spec(), of_context(20, chunk));
      CHECK(host_logits(chunks, ids) == expected);
    }
    whole.reset();
    CHECK(whole.position() == 0);
    std::vector<float> last;
    for (const std::uint32_t id : ids) last = host_logits(whole, {id});
    CHECK(last == expected);
    CHECK(whole.position() == 13);
    whole.reset();
    CHECK(host_logits(whole, ids) == expected);

    ModelRuntime chunks(sample.backend, sample.loaded, sample.spec(), of_context(20, 8));
    const std::vector<Observed> stages = observed_stages(chunks, ids);
    CHECK(stages.front().position == 0);
    CHECK(stages[3 * stages_of_layer + 1].name == "embedding");
    CHECK(stages[3 * stages_of_layer + 1].position == 8);
    CHECK(stages.back().position == 12);
    CHECK(stages.back().values == expected);
  }
}

TEST_CASE(
    "runtime: a token whose stages are observed has the bits of one that has fewer launches") {
  Platforms platforms;
  const Backend backend(device(platforms));
  for (const Golden& golden : goldens) {
    if (!is_first_of_kind(golden)) continue;
    CAPTURE(golden.architecture);
    CAPTURE(golden.type);
    const TemporaryFolder folder;
    const ModelFile model = made_model(folder, golden);
    const LoadedModel loaded = load_model(model, backend.device());
    ModelRuntime plain(backend, loaded, DecoderSpec::read(model), of_context(8));
    ModelRuntime observed(backend, loaded, DecoderSpec::read(model), of_context(8));
    for (const std::uint32_t id : prompt_ids(2)) {  // without and with tokens before it
      CHECK(observed_stages(observed, {id}).back().values == host_logits(plain, {id}));
    }
  }
}

TEST_CASE("runtime: memory is that of the formula") {
  const LoadedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  // Of 64 tokens: six caches of 2 x 24 elements, three times 96, q 144, k and v 48, attention 144,
  // gate and up 163.
  const std::uint64_t expected = 64 * 4 * (6 * 48 + 3 * 96 + 144 + 48 + 48 + 144 + 2 * 163);
  CHECK(ModelRuntime::memory_bytes(sample.spec(), of_context(64)) == expected);
  const std::uint64_t in_chunks = 64 * 4 * 6 * 48 + 3 * 512 + 768 + 2 * 256 + 768 + 2 * 768;
  CHECK(ModelRuntime::memory_bytes(sample.spec(), of_context(64, 1)) == in_chunks);
  const ModelRuntime runtime(sample.backend, sample.loaded, sample.spec(), of_context(64, 1));
  CHECK(runtime.memory_bytes() == in_chunks);
}

TEST_CASE("runtime: experts need memory for each that a token uses") {
  const LoadedSample sample(ModelFormat::gguf, {"qwen3moe"}, {"F32"});
  // Of a token: three times 96, q 144, k and v 48, attention 144, gate and up 3 x 163; 7 scores,
  // twice 3, and 3 x 96.
  const std::uint64_t of_token =
      4 * (3 * 96 + 144 + 48 + 48 + 144 + 2 * 3 * 163 + 7 + 2 * 3 + 3 * 96);
  CHECK(ModelRuntime::scratch_bytes(sample.spec(), of_context(64)) == 64 * of_token);
  DecoderSpec wide = sample.spec();
  wide.layers[0].experts.used = std::uint64_t{1} << 60;
  CHECK(code_of([&] { static_cast<void>(ModelRuntime::scratch_bytes(wide, of_context(64))); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("runtime: scratch memory is that of its formula, for 4096 tokens at most") {
  const LoadedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  const DecoderSpec spec = sample.spec();
  // Of a token: three times 96, q 144, k and v 48, attention 144, gate and up 163.
  const std::uint64_t of_token = 4 * (3 * 96 + 144 + 48 + 48 + 144 + 2 * 163);
  const auto scratch = [&](std::uint64_t context, std::uint64_t chunk) {
    return ModelRuntime::scratch_bytes(spec, of_context(context, chunk));
  };
  CHECK(scratch(64, 64) == 64 * of_token);
  CHECK(scratch(64, 128) == 64 * of_token);
  CHECK(scratch(1u << 20, 128) == 128 * of_token);
  CHECK(scratch(1u << 20, 4096) == 4096 * of_token);
  CHECK(scratch(1u << 20, 1u << 20) == 4096 * of_token);
  CHECK(scratch(1u << 20, UINT64_MAX) == 4096 * of_token);
  const std::uint64_t caches = 4096u * 4 * 6 * 48;
  CHECK(ModelRuntime::memory_bytes(spec, of_context(4096)) == caches + scratch(4096, 128));
  CHECK(code_of([&] { scratch(0, 1); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { scratch(1, 0); }) == ErrorCode::invalid_argument);
  DecoderSpec wide = spec;
  wide.embedding = std::uint64_t{1} << 51;
  CHECK(code_of([&] {
          static_cast<void>(ModelRuntime::scratch_bytes(wide, of_context(4096, 4096)));
        }) == ErrorCode::invalid_argument);
}

TEST_CASE("runtime: errors come before anything is queued") {
  const LoadedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  const DecoderSpec spec = sample.spec();
  ModelRuntime runtime(sample.backend, sample.loaded, spec, of_context(4));
  std::size_t stages = 0;
  runtime.observe([&](const DecoderStage&) { ++stages; });
  const auto step = [&](const std::vector<std::uint32_t>& ids) {
    return code_of([&] { runtime.decode_step(ids); });
  };
  CHECK(step({}) == ErrorCode::invalid_argument);
  CHECK(step({1, 331}) == ErrorCode::out_of_bounds);
  CHECK(step({1, 2, 3, 4, 5}) == ErrorCode::out_of_bounds);
  CHECK(stages == 0);
  CHECK(step({1, 2, 330}) == std::nullopt);
  CHECK(step({1, 2}) == ErrorCode::out_of_bounds);
  CHECK(runtime.position() == 3);

  runtime.observe([](const DecoderStage& stage) {
    if (stage.name == "gate") throw Error(ErrorCode::cancelled, "probe", "stop");
  });
  CHECK(step({1}) == ErrorCode::cancelled);
  CHECK(runtime.position() == 3);
  runtime.observe({});
  CHECK(step({1}) == std::nullopt);

  const auto refusal = [&](const DecoderSpec& changed, const ModelRuntime::Options& options) {
    return code_of([&] { ModelRuntime(sample.backend, sample.loaded, changed, options); });
  };
  CHECK(refusal(spec, of_context(0)) == ErrorCode::invalid_argument);
  CHECK(refusal(spec, of_context((1u << 30) + 1)) == ErrorCode::invalid_argument);
  CHECK(refusal(spec, of_context(4, 0)) == ErrorCode::invalid_argument);
  CHECK(refusal(spec, of_context(1u << 30)) == ErrorCode::out_of_memory);
  DecoderSpec other = spec;
  other.layers[1].up.rows -= 1;
  CHECK(refusal(other, of_context(4)) == ErrorCode::invalid_argument);
  other = spec;
  other.layers[1].k_norm = "blk.1.attn_k_norm.weight";
  CHECK(refusal(other, of_context(4)) == ErrorCode::not_found);
  other = spec;
  other.key_length = 257;
  CHECK(refusal(other, of_context(4)) == ErrorCode::unsupported);
  ModelRuntime::BuffersByName weights = sample.buffers();
  weights.erase(spec.layers[2].v.weight);
  CHECK_THROWS_WITH_AS(ModelRuntime(sample.backend, sample.model, weights, spec, of_context(4)),
                       doctest::Contains("blk.2.attn_v.weight"), Error);
}

TEST_CASE("runtime: cleaning up waits no longer than its limit, and can be tried again") {
  const LoadedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  ModelRuntime runtime(sample.backend, sample.loaded, sample.spec(), of_context(8));
  const std::vector<float> expected = host_logits(runtime, {1, 2, 3});
  runtime.reset();
  runtime.decode_step(std::vector<std::uint32_t>{1, 2});
  std::promise<void> ready;
  sample.backend.stream().launch_host_function(
      [until = ready.get_future().share()] { until.wait(); });
  const auto start = std::chrono::steady_clock::now();
  CHECK(code_of([&] { runtime.cleanup(0.05); }) == ErrorCode::timed_out);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(50));
  ready.set_value();
  CHECK(host_logits(runtime, {3}) == expected);
  runtime.cleanup(10);
  runtime.cleanup(0);
  CHECK(code_of([&] { runtime.decode_step(std::vector<std::uint32_t>{1}); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("runtime: ids on the device give the logits of ids on the host") {
  const LoadedSample sample(ModelFormat::gguf, {"llama", RopeScaling::none, 0, false}, {"F16"});
  const Backend& backend = sample.backend;
  const DecoderSpec spec = sample.spec();
  ModelRuntime of_host(backend, sample.loaded, spec, of_context(12));
  const std::vector<float> first = host_logits(of_host, {1, 2, 3, 4, 5});
  const std::vector<float> second = host_logits(of_host, {6});
  ModelRuntime runtime(backend, sample.loaded, spec, of_context(12, 2));
  const TensorMemory memory{backend.allocator(), backend.stream()};
  const StreamRef& stream = backend.stream();
  const auto tensor = [&](const std::vector<std::uint32_t>& ids) {
    return Tensor::from_host<std::uint32_t>(memory, ids, {ids.size()});
  };
  CHECK(runtime.input_backend().device() == backend.device());
  CHECK(runtime.decode_step(tensor({1, 2, 3, 4, 5})).to_host<float>(stream) == first);
  CHECK(runtime.decode_step(tensor({6})).to_host<float>(stream) == second);
  CHECK(runtime.position() == 6);
  runtime.reset();
  const Tensor strided = tensor({1, 0, 2, 0, 3, 0, 4, 0, 5, 0});
  const Tensor every_other = strided.with_layout(
      Layout::strided(std::vector<std::uint64_t>{5}, std::vector<std::uint64_t>{2}));
  CHECK(runtime.decode_step(every_other).to_host<float>(stream) == first);

  const auto refusal = [&](const Tensor& ids) {
    return code_of([&] { runtime.decode_step(ids); });
  };
  CHECK(refusal(tensor({})) == ErrorCode::invalid_argument);
  CHECK(refusal(tensor({1}).with_layout(Layout())) == ErrorCode::invalid_argument);
  CHECK(refusal(backend.zeros(DType::f32, {1})) == ErrorCode::invalid_argument);
  CHECK(refusal(tensor(std::vector<std::uint32_t>(8))) == ErrorCode::out_of_bounds);
  CHECK(runtime.position() == 5);

  const std::uint32_t beyond = static_cast<std::uint32_t>(spec.vocabulary);
  runtime.decode_step(tensor({beyond}));
  CHECK(code_of([&] { backend.synchronize(); }) == ErrorCode::out_of_bounds);
  backend.synchronize();
  runtime.cleanup(20);
  CHECK(refusal(tensor({1})) == ErrorCode::invalid_argument);
}
