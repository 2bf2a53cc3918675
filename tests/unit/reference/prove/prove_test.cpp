// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/error.hpp"
#include "model_writer/decoder_values.hpp"
#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

/// "LAYER STAGE TENSOR" of the first wrong value, which must be the only wrong layer and come
/// again.
std::string only_wrong(const reference::ProveResult& result) {
  if (!result.first_wrong) return result.is_right() ? "" : "logits";
  const reference::WrongValue& wrong = *result.first_wrong;
  CHECK(!result.is_right());
  CHECK(wrong.repeats == true);
  std::size_t layers = 0;
  for (const reference::LayerResult& layer : result.layers) layers += layer.wrong ? 1U : 0U;
  CHECK(layers == (wrong.layer ? 1 : 0));
  return (wrong.layer ? std::to_string(*wrong.layer) + " " : "") + wrong.stage +
         (wrong.tensor.empty() ? "" : " " + wrong.tensor);
}

/// The same where a fault is in all layers.
std::string first_wrong(const reference::ProveResult& result) {
  CHECK(result.first_wrong.has_value());
  if (!result.first_wrong) return "";
  for (const reference::LayerResult& layer : result.layers) CHECK(layer.wrong.has_value());
  return std::to_string(result.first_wrong->layer.value_or(99)) + " " + result.first_wrong->stage;
}

void flip(std::span<std::byte> bytes, std::size_t at, unsigned bit) {
  bytes[at] ^= static_cast<std::byte>(1u << bit);
}

}  // namespace

TEST_CASE("prove: a right computation, in all its parts") {
  const ProvedSample sample(ModelFormat::gguf, {"qwen3", RopeScaling::yarn, 5, false}, {"Q4_0"});
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  reference::ProveOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done > last);
    last = done;
    total = all;
  };
  const reference::ProveResult whole = sample.prove(sample.spec, options, 11);
  CHECK(whole.is_right());
  CHECK(last == total);
  CHECK(whole.layers.size() == 3);
  for (const reference::LayerResult& layer : whole.layers) {
    CHECK(layer.max_error > 0);
    CHECK(layer.max_error < 0.5 * layer.bound);
  }
  REQUIRE(whole.logits.has_value());
  CHECK(whole.logits->tokens == 8);
  CHECK(whole.logits->repeats);
  CHECK(whole.logits->max_error < 0.1 * whole.logits->bound);
  CHECK(whole.logits->bound == 1e-4 * whole.logits->deviation);

  const reference::ProveResult in_chunks = sample.prove(sample.spec, {}, 11, 4);
  CHECK(in_chunks.is_right());
  CHECK(in_chunks.logits->tokens == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(in_chunks.layers[i].max_error == whole.layers[i].max_error);
  }
  reference::ProveOptions one;
  one.layers = {1};
  const reference::ProveResult layer = sample.prove(sample.spec, one, 11);
  CHECK(layer.is_right());
  CHECK(!layer.logits);
  REQUIRE(layer.layers.size() == 1);
  CHECK(layer.layers[0].layer == 1);
  CHECK(layer.layers[0].max_error == whole.layers[1].max_error);
}

TEST_CASE("prove: numbers of a layer that are not those of the file") {
  ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  sample.spec.norm_epsilon = 1e-5;
  CHECK(only_wrong(sample.prove()) == "");
  DecoderSpec fault = sample.spec;
  fault.norm_epsilon = 1e-6;
  CHECK(first_wrong(sample.prove(fault)) == "0 attention_norm");
  fault = sample.spec;
  fault.rope.base *= 10;
  CHECK(first_wrong(sample.prove(fault)) == "0 rotated_q");
  fault = sample.spec;
  fault.rope.pairs = RopePairs::halves;
  CHECK(first_wrong(sample.prove(fault)) == "0 rotated_q");
  fault = sample.spec;
  fault.attention_scale *= 1.001;
  CHECK(first_wrong(sample.prove(fault)) == "0 attention");
  fault = sample.spec;
  fault.layers[2].window = 5;
  CHECK(only_wrong(sample.prove(fault)) == "2 attention");
}

TEST_CASE("prove: other ways to compute a layer") {
  const ProvedSample sample(ModelFormat::safetensors, {"qwen2"}, {"BF16"});
  const auto wrong_of = [&](std::size_t layer, bool FaultyLayer::*fault) {
    FaultyLayer faulty(sample, layer);
    faulty.*fault = true;
    reference::ProveOptions options;
    options.alter = faulty.probe();
    return only_wrong(sample.prove(sample.spec, options));
  };
  CHECK(wrong_of(1, &FaultyLayer::turns_backwards) == "1 rotated_q");
  CHECK(wrong_of(1, &FaultyLayer::uses_other_heads) == "1 attention");
  CHECK(wrong_of(2, &FaultyLayer::misses_last_key) == "2 attention");
  CHECK(wrong_of(1, &FaultyLayer::has_wrong_exponential) == "1 attention");
  const std::string norm = "model.layers.2.input_layernorm.weight";
  CHECK(wrong_of(2, &FaultyLayer::computes_in_half) == "2 attention_norm " + norm);
}

TEST_CASE("prove: one bit of one weight, wherever it is") {
  ProvedSample sample(ModelFormat::gguf, {"qwen3", RopeScaling::none, 0, false}, {"Q4_1"});
  const auto check = [&](const std::string& tensor, const std::string& wanted, std::uint64_t row,
                         std::size_t at, unsigned bit) {
    CAPTURE(tensor);
    CAPTURE(bit);
    sample.change(tensor, [&](std::span<std::byte> bytes) { flip(bytes, at, bit); });
    reference::ProveOptions options;
    // Both bits in "down", and the outputs, are also compared end to end.
    if (wanted[0] == '1' && wanted != "1 down") options.layers = {1};
    const reference::ProveResult result = sample.prove(sample.spec, options, 5);
    CHECK(only_wrong(result) == wanted + " " + tensor);
    if (result.first_wrong) {
      // Heads of 32 share a norm, whose elements a rotation joins with those 16 further.
      const bool is_of_heads = tensor == sample.spec.layers[1].q_norm;
      CHECK((is_of_heads ? result.first_wrong->row % 16 : result.first_wrong->row) == row);
      CHECK(result.first_wrong->type == (row == 17 ? "Q4_1" : "F32"));
    }
    sample.restore(tensor);
  };
  const DecoderSpec& spec = sample.spec;
  const DecoderLayer& layer = spec.layers[1];
  const auto check_product = [&](const char* stage, const MatrixSpec& matrix) {
    // The scale of the row's second block, an F16: its lowest mantissa bit, its lowest exponent
    // bit.
    const auto row_bytes = static_cast<std::size_t>(matrix.columns / 32 * 20);
    check(matrix.weight, stage, 17, 17 * row_bytes + 20, 0);
    check(matrix.weight, stage, 17, 17 * row_bytes + 21, 2);
  };
  check_product("1 q", layer.q);
  check_product("1 k", layer.k);
  check_product("1 v", layer.v);
  check_product("1 attention_output", layer.attention_output);
  check_product("1 gate", layer.gate);
  check_product("1 up", layer.up);
  check_product("1 down", layer.down);
  check_product("logits", spec.output);
  // Mantissa bit 13 of an F32, of 23.
  check(layer.attention_norm, "1 attention_norm", 5, 5 * 4 + 1, 5);
  check(layer.q_norm, "1 rotated_q", 5, 5 * 4 + 1, 5);
  check(layer.feed_forward_norm, "1 feed_forward_norm", 5, 5 * 4 + 1, 5);
  check(spec.output_norm, "output_norm", 5, 5 * 4 + 1, 5);
}

TEST_CASE("prove: the embedding, a bias, and a row that ends too early") {
  ProvedSample sample(ModelFormat::gguf, {"qwen2", RopeScaling::none, 0, false}, {"F32"});
  const DecoderSpec& spec = sample.spec;
  const std::uint32_t id = prompt_ids(3).back();
  sample.change(spec.embedding_tensor,
                [&](std::span<std::byte> bytes) { flip(bytes, (id * 96 + 40) * 4, 3); });
  reference::ProveResult result = sample.prove();
  CHECK(only_wrong(result) == "embedding " + spec.embedding_tensor);
  CHECK(result.first_wrong->position == 2);
  CHECK(result.first_wrong->row == 40);
  CHECK(result.first_wrong->wrong_values == 1);
  sample.restore(spec.embedding_tensor);

  const MatrixSpec& v = spec.layers[2].v;
  sample.change(v.bias, [&](std::span<std::byte> bytes) { flip(bytes, 7 * 4 + 2, 1); });
  result = sample.prove();
  CHECK(only_wrong(result) == "2 v " + v.weight);
  CHECK(result.first_wrong->row == 7);
  CHECK(result.first_wrong->wrong_values == 7);
  CHECK(result.first_wrong->values == 7 * 48);
  sample.restore(v.bias);

  const MatrixSpec& down = spec.layers[0].down;
  sample.change(down.weight, [&](std::span<std::byte> bytes) {
    const auto row_bytes = static_cast<std::size_t>(down.columns) * 4;
    std::memset(bytes.data() + 61 * row_bytes - 32 * 4, 0, 32 * 4);
  });
  result = sample.prove();
  CHECK(only_wrong(result) == "0 down " + down.weight);
  CHECK(result.first_wrong->row == 60);
  CHECK(result.first_wrong->rows == 96);
  CHECK(result.logits->max_error > result.logits->bound);
}

TEST_CASE("prove: NaN, values that come and go, and faults that only single tokens meet") {
  ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F16"});
  const auto alter_one = [&](const char* stage_name, std::size_t place, double value,
                             std::size_t times, bool is_single) {
    reference::ProveOptions options;
    options.alter = [=, &sample, count = std::size_t{0}](const DecoderStage& stage) mutable {
      const bool has_one = stage.values.dims()[0] == 1;
      if (stage.name != stage_name || stage.layer != 1u || has_one != is_single) return;
      if (count++ >= times) return;
      const std::vector<float> numbers = stage.values.to_host<float>(sample.backend.stream());
      std::vector<double> values(numbers.begin(), numbers.end());
      values[place] = value;
      write_values(sample.backend, stage.values, values);
    };
    return sample.prove(sample.spec, options);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  reference::ProveResult result = alter_one("up", 163 + 9, nan, 100, false);
  CHECK(only_wrong(result) == "1 up blk.1.ffn_up.weight");
  CHECK(result.first_wrong->position == 1);
  CHECK(result.first_wrong->row == 9);
  CHECK(result.first_wrong->repeats == true);
  CHECK(!result.logits->repeats);

  result = alter_one("down", 5, 100, 1, false);
  CHECK(result.first_wrong->stage == "down");
  CHECK(result.first_wrong->repeats == false);

  result = alter_one("down", 5, 100, 100, true);
  CHECK(!result.first_wrong);
  CHECK(!result.is_right());
  CHECK(!result.logits->repeats);
  CHECK(result.logits->max_error > result.logits->bound);
}

TEST_CASE("prove: no false alarm over 100 seeds of all architectures, rotations and types") {
  struct Kind {
    ModelFormat format;
    const char* architecture;
    RopeScaling rope;
  };
  std::vector<Kind> kinds;
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    const bool is_gguf = format == ModelFormat::gguf;
    for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
      for (const RopeScaling rope : {RopeScaling::none, RopeScaling::linear, RopeScaling::yarn,
                                     RopeScaling::llama3, RopeScaling::longrope}) {
        const bool is_llama = std::string(architecture) == "llama";
        if (is_gguf && !is_llama && rope == RopeScaling::llama3) continue;
        kinds.push_back({format, architecture, rope});
      }
    }
  }
  double highest = 0;
  double logits = 0;
  // Sanitizers take minutes for all of them.
  const bool is_all = std::getenv("RELEASE") != nullptr;
  const std::uint64_t step = is_all ? 1 : test::is_sanitized ? 9 : 3;
  for (std::uint64_t seed = 0; seed < 100; seed += step) {
    const Kind& kind = kinds[seed % kinds.size()];
    const bool is_gguf = kind.format == ModelFormat::gguf;
    std::vector<std::string_view> types = model_writer::weight_types(is_gguf);
    std::erase_if(types, [](std::string_view type) { return type.starts_with("F8"); });
    const std::string type(types[seed % types.size()]);
    CAPTURE(seed);
    CAPTURE(type);
    CAPTURE(kind.architecture);
    const bool has_window = is_gguf || std::string(kind.architecture) != "llama";
    const std::uint64_t window = has_window ? seed % 3 * 2 : 0;
    const ProvedSample sample(kind.format, {kind.architecture, kind.rope, window, seed % 2 == 1},
                              {type}, seed);
    const reference::ProveResult result = sample.prove(sample.spec, {}, 2 + seed % 2);
    CHECK(only_wrong(result) == "");
    for (const reference::LayerResult& layer : result.layers) {
      highest = std::max(highest, layer.max_error / layer.bound);
    }
    logits = std::max(logits, result.logits->max_error / result.logits->bound);
  }
  CHECK(highest < 0.8);
  MESSAGE("largest error of a layer ", highest, ", of logits ", logits, " of the bound");
}

TEST_CASE("prove: what cannot be done, and a cancellation") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  reference::ProveOptions options;
  options.layers = {0, 3};
  CHECK(code_of([&] { sample.prove(sample.spec, options); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { sample.prove(sample.spec, {}, 0); }) == ErrorCode::invalid_argument);
  for (const std::size_t stages : {1u, 40u, 200u, 280u}) {
    CAPTURE(stages);
    CancelToken cancel;
    options = {};
    options.cancel = &cancel;
    options.alter = [&, count = std::size_t{0}](const DecoderStage&) mutable {
      if (++count == stages) cancel.cancel();
    };
    CHECK(code_of([&] { sample.prove(sample.spec, options); }) == ErrorCode::cancelled);
  }
}

TEST_CASE("prove: a cancellation keeps the layers that were compared") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  const reference::ProveResult whole = sample.prove();
  for (const std::size_t compared : {0u, 1u, 2u}) {
    CAPTURE(compared);
    CancelToken cancel;
    reference::ProveResult so_far;
    reference::ProveOptions options;
    options.layers = {0, 1, 2};
    options.cancel = &cancel;
    options.so_far = &so_far;
    options.alter = [&](const DecoderStage& stage) {
      if (stage.layer == compared && stage.name == "output") cancel.cancel();
    };
    CHECK(code_of([&] { sample.prove(sample.spec, options); }) == ErrorCode::cancelled);
    REQUIRE(so_far.layers.size() == compared);
    for (std::size_t i = 0; i < compared; ++i) {
      CHECK(so_far.layers[i].layer == i);
      CHECK(so_far.layers[i].max_error == whole.layers[i].max_error);
    }
    CHECK(!so_far.logits);
    CHECK(!so_far.first_wrong);
  }
}

TEST_CASE("prove: a layer of which only a part was compared is not among those that were") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  constexpr int products = 7;  // of a layer
  for (const int at : {1, products, products + 1, 2 * products + 3}) {
    CAPTURE(at);
    reference::ProveResult so_far;
    reference::ProveOptions options;
    options.layers = {0, 1, 2};
    options.so_far = &so_far;
    options.progress = [at, count = 0](std::uint64_t, std::uint64_t) mutable {
      if (++count == at) throw Error(ErrorCode::cancelled, "prove", "interrupted");
    };
    CHECK(code_of([&] { sample.prove(sample.spec, options); }) == ErrorCode::cancelled);
    CHECK(so_far.layers.size() == static_cast<std::size_t>((at - 1) / products));
  }
}

TEST_CASE("prove: a wrong layer that a cancellation follows is kept, and blames no device") {
  const ProvedSample sample(ModelFormat::safetensors, {"qwen2"}, {"BF16"});
  FaultyLayer faulty(sample, 0);
  faulty.misses_last_key = true;
  CancelToken cancel;
  reference::ProveResult so_far;
  reference::ProveOptions options;
  options.cancel = &cancel;
  options.so_far = &so_far;
  options.layers = {0, 1};
  options.alter = [&, alter = faulty.probe()](const DecoderStage& stage) {
    alter(stage);
    if (stage.layer == 1 && stage.name == "output") cancel.cancel();
  };
  CHECK(code_of([&] { sample.prove(sample.spec, options); }) == ErrorCode::cancelled);
  REQUIRE(so_far.layers.size() == 1);
  REQUIRE(so_far.layers[0].wrong.has_value());
  CHECK(!so_far.layers[0].wrong->device.empty());
  CHECK(!so_far.first_wrong);
  CHECK(so_far.is_right());
}
