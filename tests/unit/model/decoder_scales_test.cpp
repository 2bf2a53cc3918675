// SPDX-License-Identifier: MIT
// Numbers in FP8 with a scale for each block: what config.json and safetensors say of them.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "unit/model/decoder_files.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

const std::string q_name = "model.layers.0.self_attn.q_proj.weight";

nlohmann::json quantization() {
  return {{"quant_method", "fp8"},
          {"fmt", "e4m3"},
          {"activation_scheme", "dynamic"},
          {"modules_to_not_convert", {"lm_head"}},
          {"weight_block_size", {8, 5}}};
}

/// A folder whose matrix q, of 12 x 12 elements, is in FP8 with 2 x 3 blocks.
ConfigFolder scaled_folder() {
  ConfigFolder folder;
  folder.config["quantization_config"] = quantization();
  folder.dtypes[q_name] = "F8_E4M3";
  folder.tensors.emplace_back(q_name + "_scale_inv", std::vector<std::uint64_t>{2, 3});
  return folder;
}

ConfigFolder with_member(const char* name, const nlohmann::json& value) {
  ConfigFolder folder = scaled_folder();
  folder.config["quantization_config"][name] = value;
  return folder;
}

}  // namespace

TEST_CASE("decoder spec: scales of blocks") {
  for (const char* type : {"F32", "BF16"}) {
    ConfigFolder folder = scaled_folder();
    folder.dtypes[q_name + "_scale_inv"] = type;
    const DecoderLayer layer = folder.read().layers[0];
    CHECK(layer.q.weight == q_name);
    CHECK(layer.q.scales == q_name + "_scale_inv");
    CHECK(layer.q.block_rows == 8);
    CHECK(layer.q.block_columns == 5);
    CHECK(layer.k.scales.empty());
    CHECK(layer.k.block_rows == 0);
  }
  // What says how activations are rounded, and what older files leave out.
  ConfigFolder folder = with_member("scale_fmt", "ue8m0");
  for (const char* name : {"fmt", "activation_scheme", "modules_to_not_convert"}) {
    folder.config["quantization_config"].erase(name);
  }
  CHECK(folder.read().layers[0].q.block_rows == 8);
}

TEST_CASE("decoder spec: scales that are refused") {
  check_refusal(with_member("weight_block_size", nullptr),
                "'quantization_config.weight_block_size' is null", "only scales of blocks");
  for (const nlohmann::json& size :
       {nlohmann::json(128), nlohmann::json{128}, nlohmann::json{8, 0}, nlohmann::json{8, 5, 1},
        nlohmann::json{8, -5}, nlohmann::json{8, "5"}, nlohmann::json{8, 1u << 31}}) {
    check_refusal(with_member("weight_block_size", size), "'quantization_config.weight_block_size'",
                  "two numbers");
  }
  check_refusal(with_member("fmt", "e5m2"), "'quantization_config.fmt' is \"e5m2\"");
  check_refusal(with_member("activation_scheme", "static"),
                "'quantization_config.activation_scheme' is \"static\"");
  check_refusal(with_member("rotation", 1), "'quantization_config.rotation' is 1");
  check_refusal(with_member("quant_method", "fbgemm_fp8"), "'quantization_config'", "unknown here");
  // As many blocks of another extent are as good.
  CHECK(with_member("weight_block_size", {6, 4}).read().layers[0].q.block_columns == 4);
}

TEST_CASE("decoder spec: scales that do not belong to their numbers") {
  check_refusal(with_member("weight_block_size", {12, 5}), q_name + "_scale_inv",
                "[2, 3] in place of [1, 3]");
  check_refusal(with_member("weight_block_size", {8, 6}), "[2, 3] in place of [2, 2]");
  ConfigFolder without = scaled_folder();
  without.tensors.pop_back();
  check_refusal(without, "'" + q_name + "_scale_inv' is missing");
  ConfigFolder plain = scaled_folder();
  plain.dtypes.clear();
  check_refusal(plain, "'" + q_name + "_scale_inv' has no place");
  ConfigFolder unnamed = scaled_folder();
  unnamed.config.erase("quantization_config");
  check_refusal(unnamed, "'" + q_name + "_scale_inv' has no place");
  // Rows of the embedding are not multiplied.
  ConfigFolder embedding = scaled_folder();
  const std::string name = "model.embed_tokens.weight";
  embedding.dtypes[name] = "F8_E4M3";
  embedding.tensors.emplace_back(name + "_scale_inv", std::vector<std::uint64_t>{1, 3});
  check_refusal(embedding, "the embedding is in FP8");
}
