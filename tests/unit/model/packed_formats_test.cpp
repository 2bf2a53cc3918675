// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "packed_model.hpp"

using namespace hiptool;
using namespace hiptool::test;

TEST_CASE("packed weights: torchao, by the header and else by the shapes") {
  // github.com/pytorch/ao, quantization/quantize_/workflows/int4: Int4Tensor packs two weights in
  // I8 [N, K / 2] with scales [K / group, N]; the others eight in I32. flatten_tensor_state_dict
  // states the class and its attributes in __metadata__.
  const std::string torchao = R"({"quantization_config": {"quant_method": "torchao"}})";
  const auto header = [](const std::string& name, const std::string& data) {
    return R"({"l.weight":"{\"_type\": \")" + name + R"(\", \"_data\": {)" + data + R"(}}"})";
  };
  const std::string shape = R"(\"block_size\": [1, 128], \"shape\": [384, 1024])";
  const std::vector<Stored> plain{{"l._weight_qdata", "I8", {outputs, inputs / 2}},
                                  {"l._weight_scale", "BF16", {inputs / 128, outputs}},
                                  {"l._weight_zero_point", "BF16", {inputs / 128, outputs}}};
  const std::vector<Stored> tiles{{"l._weight_qdata", "I32", {outputs / 8, inputs / 128, 32, 4}},
                                  {"l._weight_scale_and_zero", "BF16", {inputs / 128, outputs, 2}}};
  const std::vector<Stored> words{{"l._weight_qdata", "I32", {outputs, inputs / 8}},
                                  {"l._weight_scale", "BF16", {inputs / 128, outputs}},
                                  {"l._weight_zero_point", "I8", {inputs / 128, outputs}}};
  check_count("Int4Tensor", torchao, plain, weights, header("Int4Tensor", shape));
  check_count("Int4TilePackedTo4dTensor", torchao, tiles, weights,
              header("Int4TilePackedTo4dTensor", shape));
  check_count("Int4PlainInt32Tensor", torchao, words, weights,
              header("Int4PlainInt32Tensor", shape));
  for (const auto& stored : {plain, tiles, words}) check_count("no header", torchao, stored);
  std::vector<Stored> experts = plain;
  for (Stored& each : experts) each.shape.insert(each.shape.begin(), 4);
  check_count("experts", torchao, experts, 4 * weights);
  check_count("IntxUnpackedToInt8Tensor", torchao,
              {{"l._weight_qdata", "I8", {outputs, inputs}},
               {"l._weight_scale", "BF16", {outputs, inputs / 32}},
               {"l._weight_zero_point", "I8", {outputs, inputs / 32}}});
  const std::vector<Stored> mx{{"l._weight_qdata", "U8", {outputs, inputs}},
                               {"l._weight_scale", "F8_E8M0", {outputs, inputs / 32}}};
  check_count("MXTensor of FP6 in bytes", torchao, mx, weights,
              header("MXTensor", R"(\"elem_dtype\": \"fp6_e2m3\")"));
  check_count("MXTensor of FP4", torchao, mx, 2 * weights,
              header("MXTensor", R"(\"elem_dtype\": {\"_type\": \"torch.dtype\", )"
                                 R"(\"_data\": \"float4_e2m1fn_x2\"})"));
  // What the shapes leave open, and a class that is not known.
  check_undecided("as many groups as outputs", torchao,
                  {{"l._weight_qdata", "I8", {64, 64}}, {"l._weight_scale", "BF16", {64, 64}}});
  check_undecided("no scales", torchao, {{"l._weight_qdata", "I8", {64, 64}}});
  const ModelFile other = open_model(plain, torchao, "config.json", header("Int3Tensor", ""));
  CHECK(other.warnings().size() == 1);
  const ModelFile absurd =
      open_model(plain, torchao, "config.json",
                 header("Int4Tensor", R"(\"shape\": [4294967296, 4294967296])"));
  CHECK(absurd.warnings().size() == 1);
}

TEST_CASE("packed weights: FP6 of compressed-tensors and Quark") {
  // compressed_tensors/compressors/mxfp6/base.py: four weights in three bytes, U8 [m, 3 n / 4].
  check_count("mxfp6-pack-quantized", R"({"quantization_config":{"quant_method":
              "compressed-tensors","format":"mxfp6-pack-quantized","config_groups":{"group_0":
              {"weights":{"num_bits":6,"type":"float","group_size":32}}}}})",
              {{"l.weight_packed", "U8", {outputs, inputs * 3 / 4}},
               {"l.weight_scale", "U8", {outputs, inputs / 32}}});
  check_count("by the shapes", "",
              {{"l.weight_packed", "U8", {outputs, inputs * 3 / 4}},
               {"l.weight_scale", "U8", {outputs, inputs / 32}}});
  check_count("of Quark", R"({"quantization_config":{"quant_method":"quark"}})",
              {{"l.weight", "U8", {outputs, inputs * 3 / 4}},
               {"l.weight_scale", "U8", {outputs, inputs / 32}}});
}

TEST_CASE("packed weights: groups of compressed-tensors with different bits") {
  const auto config = [](std::string_view first, std::string_view second) {
    return R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":{)"
           R"("group_0":{"weights":)" +
           std::string(first) + R"(},"group_1":{"weights":)" + std::string(second) + "}}}}";
  };
  const std::vector<Stored> packed{{"l.weight_packed", "I32", {outputs, inputs / 8}},
                                   {"l.weight_scale", "BF16", {outputs, 1}}};
  check_count("of one scale for a row, only one group is",
              config(R"({"num_bits":8,"group_size":128})", R"({"num_bits":4,"group_size":null})"),
              packed);
  check_count("both have the same bits", config(R"({"num_bits":4})", R"({"num_bits":4})"), packed);
  check_count("one scale for all", R"({"quantization_config":{"config_groups":{"group_0":{"weights":
              {"num_bits":4,"strategy":"tensor"}}}}})",
              {packed[0], {"l.weight_scale", "BF16", {1}}});
  check_undecided("two groups", config(R"({"num_bits":8})", R"({"num_bits":4})"), packed);
  check_undecided(
      "bytes that are not of the stated bits",
      R"({"quantization_config":{"quant_method":"new","bits":4}})",
      {{"l.weight", "U8", {outputs, inputs / 2}}, {"l.weight_scale", "F32", {outputs}}});
}

TEST_CASE("packed weights: two of four weights of compressed-tensors") {
  // github.com/vllm-project/vllm, compressed_tensors_w4a16_24.py and compressed_tensors_24.py.
  check_count("marlin-24", "",
              {{"l.weight_packed", "I32", {inputs / 32, outputs * 2}},
               {"l.scale_packed", "F16", {inputs / 128, outputs}},
               {"l.meta", "I16", {inputs / 32, outputs * 2}}});
  check_count("sparse-24-bitmask", "",
              {{"l.compressed", "BF16", {outputs, inputs / 2}},
               {"l.bitmask", "U8", {outputs, inputs / 8}},
               {"l.shape", "I64", {2}}});
}

TEST_CASE("packed weights: Gemma of transformers, with patterns of names") {
  // transformers/integrations/gemma_quant.py: U8 of 4 or 2 bits, I8 of 8 bits, a scale for a row.
  const auto config = [](std::string_view patterns) {
    return R"({"quantization_config":{"quant_method":"gemma","num_bits":4,)"
           R"("module_quant_configs":{)" +
           std::string(patterns) + "}}}";
  };
  const auto layer = [](const std::string& name, std::uint64_t bits) {
    return std::vector<Stored>{
        {name + ".weight", bits == 8 ? "I8" : "U8", {outputs, inputs * bits / 8}},
        {name + ".weight_scale", "F32", {outputs, 1}},
        {name + ".input_activation_scale", "F32", {}},
        {name + ".output_activation_scale", "F32", {}}};
  };
  const std::string down = R"("mlp\\.down_proj":{"num_bits":2})";
  check_count("by default", R"({"quantization_config":{"quant_method":"gemma"}})", layer("l", 4));
  check_count("by no pattern", config(down), layer("l.mlp.up_proj", 4));
  check_count("by a pattern", config(down), layer("l.mlp.down_proj", 2));
  check_count("8 bits", config(down), layer("l.mlp.down_proj", 8));
  check_count("patterns of one number", config(R"("^.*mlp":{"num_bits":4})"), layer("l.mlp", 4));
  check_count("embeddings", config(down),
              {{"l.embedding_quantized", "U8", {outputs, inputs / 2}},
               {"l.embedding_scale", "F32", {outputs, 1}}});
  check_undecided("patterns that only a regular expression decides",
                  config(R"("mlp\\.(up|down)_proj":{"num_bits":2})"), layer("l.mlp.up_proj", 2));
  check_undecided("patterns that differ", config(R"("mlp":{"num_bits":2},"up":{"num_bits":4})"),
                  layer("l.mlp.up_proj", 2));
}
