// SPDX-License-Identifier: MIT
// Matrices in FP8 with a scale for each block of 128 x 128, of which the last ones are cut.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/decoder_parts.hpp"
#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ProvedSample sample_of(const std::string& name, std::vector<std::string> types,
                       std::uint64_t seed = 1,
                       const std::function<void(const ModelFile&)>& change = {}) {
  const RopeScaling rope = name.starts_with("deepseek") ? RopeScaling::yarn : RopeScaling::none;
  return ProvedSample(ModelFormat::safetensors, {name, rope, 0, false}, std::move(types), seed,
                      change);
}

ProvedSample scaled_sample(const std::string& name, std::uint64_t seed = 1,
                           const std::function<void(const ModelFile&)>& change = {}) {
  return sample_of(name, {"F8_E4M3"}, seed, change);
}

void swap_scales(std::span<std::byte> bytes, std::size_t first, std::size_t second) {
  for (std::size_t i = 0; i < 4; ++i) std::swap(bytes[4 * first + i], bytes[4 * second + i]);
}

}  // namespace

TEST_CASE("scales: a right computation, whatever the architecture, the prompt and the chunks") {
  for (const char* name : {"llama", "qwen3", "qwen3moe", "mixtral", "phi3", "deepseek2"}) {
    CAPTURE(name);
    const ProvedSample sample = scaled_sample(name);
    const DecoderLayer& layer = sample.spec.layers[1];
    CHECK(!layer.attention_output.scales.empty());
    if (layer.has_experts()) CHECK(layer.experts.down.block_scales.size() == layer.experts.count);
    CHECK(model::expanded_bytes(sample.spec) > 0);
    const reference::ProveResult whole = sample.prove(sample.spec, {}, 13);
    CHECK(wrong_stage(whole) == "");
    REQUIRE(whole.logits.has_value());
    CHECK(whole.logits->max_error < 0.1 * whole.logits->bound);
    for (const reference::LayerResult& one : whole.layers) {
      CHECK(one.max_error > 0);
      CHECK(one.max_error < 0.8 * one.bound);
    }
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 13, 4)) == "");
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 1)) == "");
  }
}

TEST_CASE("scales: convolutions have none") {
  for (const char* name : {"qwen3next", "qwen35", "qwen35moe"}) {
    CAPTURE(name);
    const ProvedSample sample = scaled_sample(name);
    CHECK(!sample.spec.layers[0].attention_output.scales.empty());
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
  }
}

TEST_CASE("scales: with other types in turn, those of experts are all in FP8 or none is") {
  for (const char* name : {"mixtral", "qwen3moe", "deepseek2"}) {
    CAPTURE(name);
    const ProvedSample sample = sample_of(name, {"F8_E4M3", "BF16"});
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
    std::size_t scaled = 0;
    std::size_t plain = 0;
    for (const DecoderLayer& layer : sample.spec.layers) {
      for (const ExpertMatrices* experts : model::expert_matrices_of(layer)) {
        if (experts->weights.empty()) continue;
        (experts->block_scales.empty() ? plain : scaled) += 1;
      }
    }
    CHECK(scaled > 0);
    CHECK(plain > 0);
  }
}

TEST_CASE("scales: the scale of a neighbouring block") {
  ProvedSample sample = scaled_sample("deepseek2");
  const DecoderLayer& layer = sample.spec.layers[1];
  // q_b: 168 x 44. down of the shared experts: 200 x 278 elements in 2 x 3 blocks. An expert's
  // gate: 139 x 200.
  struct Swap {
    std::string scales;
    std::size_t first, second;
    std::string stage;
    std::uint64_t first_row, end_row;  // that change
  };
  const std::string& down = layer.experts.shared_down.scales;
  for (const Swap& swap :
       {Swap{layer.q.scales, 0, 1, "q", 0, 168}, Swap{down, 0, 1, "shared_down", 0, 128},
        Swap{down, 1, 2, "shared_down", 0, 128},    // the cut one at the right
        Swap{down, 4, 5, "shared_down", 128, 200},  // in the cut row
        Swap{down, 2, 5, "shared_down", 0, 200}}) {
    CAPTURE(swap.scales);
    CAPTURE(swap.first);
    sample.change(swap.scales,
                  [&](std::span<std::byte> bytes) { swap_scales(bytes, swap.first, swap.second); });
    const reference::ProveResult result = sample.prove();
    CHECK(wrong_stage(result) == swap.stage + " of 1");
    REQUIRE(result.first_wrong);
    CHECK(result.first_wrong->tensor + "_scale_inv" == swap.scales);
    CHECK(result.first_wrong->row >= swap.first_row);
    CHECK(result.first_wrong->row < swap.end_row);
    sample.restore(swap.scales);
  }
  // Those of another expert.
  DecoderSpec other = sample.spec;
  ExpertMatrices& gates = other.layers[2].experts.gate;
  for (std::string& scales : gates.block_scales) scales = gates.block_scales.front();
  CHECK(wrong_stage(sample.prove(other)) == "gate of 2");
  CHECK(wrong_stage(sample.prove()) == "");
}

TEST_CASE("scales: blocks that begin a row or a column off") {
  const ProvedSample sample = scaled_sample("qwen3");
  const auto faulty = [&](const std::function<void(MatrixSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec.layers[1].attention_output);  // 200 x 144
    return sample.prove(spec);
  };
  const reference::ProveResult early = faulty([](MatrixSpec& matrix) { matrix.block_rows = 127; });
  CHECK(wrong_stage(early) == "attention_output of 1");
  REQUIRE(early.first_wrong);
  CHECK(early.first_wrong->row == 127);
  const reference::ProveResult late = faulty([](MatrixSpec& matrix) { matrix.block_rows = 129; });
  CHECK(wrong_stage(late) == "attention_output of 1");
  REQUIRE(late.first_wrong);
  CHECK(late.first_wrong->row == 128);
  for (const std::uint64_t columns : {127u, 129u}) {
    CHECK(wrong_stage(faulty([&](MatrixSpec& matrix) { matrix.block_columns = columns; })) ==
          "attention_output of 1");
  }
}

TEST_CASE("scales: a bit of a number, and of a scale") {
  ProvedSample sample = scaled_sample("phi3");
  const DecoderLayer& layer = sample.spec.layers[1];
  // up begins in row 263 of the tensor that it shares, in the middle of a block.
  CHECK(layer.up.first_row % layer.up.block_rows != 0);
  const std::size_t row = 270;
  sample.change(layer.up.weight,
                [&](std::span<std::byte> bytes) { bytes[row * 200 + 7] ^= std::byte{0x20}; });
  const reference::ProveResult number = sample.prove();
  CHECK(wrong_stage(number) == "up of 1");
  REQUIRE(number.first_wrong);
  CHECK(number.first_wrong->first_row + number.first_wrong->row == row);
  sample.restore(layer.up.weight);
  // Of the block of rows 256 to 383, which has the end of gate and the begin of up.
  sample.change(layer.up.scales,
                [](std::span<std::byte> bytes) { bytes[2 * 2 * 4 + 2] ^= std::byte{0x10}; });
  const reference::ProveResult scale = sample.prove();
  CHECK(wrong_stage(scale) == "gate of 1");
  REQUIRE(scale.first_wrong);
  CHECK(scale.first_wrong->row >= 256);
}

TEST_CASE("scales: NaN in a file's scale is the file's fault") {
  const ProvedSample sample = scaled_sample("llama", 1, [](const ModelFile& model) {
    const TensorInfo& scales = *model.find("model.layers.1.mlp.up_proj.weight_scale_inv");
    const float value = std::numeric_limits<float>::quiet_NaN();
    std::fstream file(model.files()[scales.file].path,
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(scales.file_offset + sizeof value));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
    REQUIRE(file.good());
  });
  CHECK(code_of([&] { static_cast<void>(sample.prove()); }) == ErrorCode::corrupt_data);
}

TEST_CASE("scales: a specification that does not fit") {
  const ProvedSample sample = scaled_sample("qwen3");
  const auto code = [&](const std::function<void(MatrixSpec&)>& change) {
    DecoderSpec spec = sample.spec;
    change(spec.layers[0].down);
    return code_of([&] { static_cast<void>(sample.prove(spec)); });
  };
  CHECK(code([](MatrixSpec& matrix) { matrix.block_rows = 0; }) == ErrorCode::invalid_argument);
  CHECK(code([](MatrixSpec& matrix) { matrix.block_columns = 64; }) == ErrorCode::invalid_argument);
  CHECK(code([](MatrixSpec& matrix) { matrix.scales = "none"; }) == ErrorCode::not_found);
  CHECK(code([](MatrixSpec& matrix) { matrix.scales.clear(); }) == ErrorCode::unsupported);
}

TEST_CASE("scales: a right device is never accused") {
  for (std::uint64_t seed = 2; seed <= (is_sanitized ? 3 : 8); ++seed) {
    CAPTURE(seed);
    const ProvedSample sample = scaled_sample(seed % 2 == 0 ? "deepseek2" : "qwen3moe", seed);
    CHECK(wrong_stage(sample.prove(sample.spec, {}, 3)) == "");
  }
}
