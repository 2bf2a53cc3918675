// SPDX-License-Identifier: MIT
// States of layers without keys and values: kept, reset, and carried over chunks.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiptool/model_runtime.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_support.hpp"
#include "unit/runtime/stage_comparison.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

const std::vector<std::string> with_states{"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text",
                                           "qwen3next",  "qwen35",       "qwen35moe"};

ModelFormat format_of_name(const std::string& architecture) {
  return architecture.find('_') == std::string::npos ? ModelFormat::gguf : ModelFormat::safetensors;
}

}  // namespace

TEST_CASE("states: chunks, single tokens and a reset runtime give the bits of one step") {
  const std::vector<std::uint32_t> ids = prompt_ids(13);
  for (const std::string& architecture : with_states) {
    CAPTURE(architecture);
    const LoadedSample sample(format_of_name(architecture), {architecture}, {"F32"});
    ModelRuntime whole(sample.backend, sample.loaded, sample.spec(), of_context(16));
    const std::vector<float> expected = host_logits(whole, ids);
    const std::vector<float> next = host_logits(whole, {5});
    for (const std::uint64_t chunk : {2u, 8u}) {
      ModelRuntime chunks(sample.backend, sample.loaded, sample.spec(), of_context(20, chunk));
      CHECK(host_logits(chunks, ids) == expected);
      CHECK(host_logits(chunks, {5}) == next);
    }
    whole.reset();
    CHECK(whole.position() == 0);
    std::vector<float> last;
    for (const std::uint32_t id : ids) last = host_logits(whole, {id});
    CHECK(last == expected);
    CHECK(host_logits(whole, {5}) == next);

    // Another sequence in between leaves nothing behind.
    whole.reset();
    CHECK(host_logits(whole, {300, 2, 90}) != expected);
    whole.reset();
    CHECK(host_logits(whole, ids) == expected);
  }
}

TEST_CASE("states: two runtimes of one model have a state each") {
  const LoadedSample sample(ModelFormat::safetensors, {"qwen3_next"}, {"F32"});
  ModelRuntime alone(sample.backend, sample.loaded, sample.spec(), of_context(16));
  static_cast<void>(host_logits(alone, prompt_ids(4)));
  const std::vector<float> expected = host_logits(alone, {9});
  ModelRuntime first(sample.backend, sample.loaded, sample.spec(), of_context(16));
  ModelRuntime second(sample.backend, sample.loaded, sample.spec(), of_context(16));
  static_cast<void>(host_logits(first, prompt_ids(4)));
  static_cast<void>(host_logits(second, {330, 1, 7}));
  CHECK(host_logits(first, {9}) == expected);
}

TEST_CASE("states: a step that fails on its way can be repeated") {
  const LoadedSample sample(ModelFormat::safetensors, {"qwen3_5_text"}, {"F32"});
  const std::vector<std::uint32_t> ids = prompt_ids(7);
  ModelRuntime expected(sample.backend, sample.loaded, sample.spec(), of_context(16, 3));
  const std::vector<float> first = host_logits(expected, ids);
  const std::vector<float> second = host_logits(expected, ids);
  // In each layer, in the first chunk of a step and in a later one.
  for (const std::uint64_t position : {0u, 3u}) {
    for (const std::size_t layer : {0u, 1u, 3u}) {
      CAPTURE(position);
      CAPTURE(layer);
      ModelRuntime runtime(sample.backend, sample.loaded, sample.spec(), of_context(16, 3));
      for (const std::vector<float>& logits : {first, second}) {
        const std::uint64_t start = runtime.position();
        runtime.observe([&](const DecoderStage& stage) {
          const bool is_there = stage.layer == layer && stage.position == start + position;
          if (is_there && stage.name == "output") throw std::runtime_error("stopped");
        });
        CHECK_THROWS_AS(runtime.decode_step(ids), std::runtime_error);
        runtime.observe({});
        CHECK(host_logits(runtime, ids) == logits);
      }
    }
  }
}

TEST_CASE("states: memory is that of the formula, and does not grow with the context") {
  const LoadedSample sample(ModelFormat::safetensors, {"qwen3_5_text"}, {"F32"});
  // Twice in three layers 6 x 12 x 20 elements, and 3 inputs of 168 channels; of a token in one
  // layer keys and values of 2 x 24.
  const auto padded = [](std::uint64_t elements) { return (4 * elements + 255) / 256 * 256; };
  const std::uint64_t states = 3 * 2 * (padded(6 * 12 * 20) + padded(3 * 168));
  const std::uint64_t scratch = ModelRuntime::scratch_bytes(sample.spec(), of_context(64));
  CHECK(ModelRuntime::memory_bytes(sample.spec(), of_context(64)) ==
        states + 2 * padded(64 * 48) + scratch);
  // Of a token: three times 96, q 288 with the gates, k 48, v 120, attention 144, gate and up 163,
  // gates or z 288, twice 168 channels, and 6 scores, steps, decays and betas.
  CHECK(scratch == 64 * 4 * (3 * 96 + 288 + 48 + 120 + 144 + 2 * 163 + 288 + 2 * 168 + 4 * 6));
  const std::uint64_t more = ModelRuntime::memory_bytes(sample.spec(), of_context(128, 64));
  CHECK(more == ModelRuntime::memory_bytes(sample.spec(), of_context(64)) + 2 * padded(64 * 48));
  const ModelRuntime runtime(sample.backend, sample.loaded, sample.spec(), of_context(64));
  CHECK(runtime.memory_bytes() == ModelRuntime::memory_bytes(sample.spec(), of_context(64)));
}
