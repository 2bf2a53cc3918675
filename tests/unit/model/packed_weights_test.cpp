// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "packed_model.hpp"

using namespace hiptool;
using namespace hiptool::test;

TEST_CASE("packed weights: GPTQ and AWQ, with and without the bits in config.json") {
  for (const std::uint64_t bits : {2u, 3u, 4u, 8u}) {
    CAPTURE(bits);
    const std::vector<Stored> gptq{{"l.qweight", "I32", {inputs * bits / 32, outputs}},
                                   {"l.qzeros", "I32", {8, outputs * bits / 32}},
                                   {"l.scales", "F16", {8, outputs}},
                                   {"l.g_idx", "I32", {inputs}}};
    check_count("GPTQ by its permutation", "", gptq);
    check_count("GPTQ of a config of other bits, as `dynamic` overrides them",
                R"({"quantization_config":{"quant_method":"gptq","bits":4}})", gptq);
    check_count("GPTQ by its zero points", "", {gptq[0], gptq[1], gptq[2]});
    const std::string config =
        R"({"quantization_config":{"quant_method":"gptq","bits":)" + std::to_string(bits) + "}}";
    check_count("GPTQ without zero points", config, {gptq[0], gptq[2]});
  }
  const std::vector<Stored> awq{{"l.qweight", "I32", {inputs, outputs / 8}},
                                {"l.qzeros", "I32", {8, outputs / 8}},
                                {"l.scales", "F16", {8, outputs}},
                                {"l.bias", "F16", {outputs}}};
  check_count("AWQ", R"({"quantization_config":{"quant_method":"awq","bits":4,"group_size":128}})",
              awq, weights + outputs);
  check_count("AWQ without config", "", awq, weights + outputs);
  check_count("AWQ for gemv_fast", R"({"quantization_config":{"quant_method":"awq","bits":4}})",
              {{"l.qweight", "I16", {outputs / 4, inputs}}, {"l.scales", "F16", {8, outputs}}});
  check_count("Marlin", "",
              {{"l.B", "I32", {inputs / 16, outputs * 16 / 8}},
               {"l.s", "F16", {8, outputs}},
               {"l.workspace", "I32", {48}}});
}

TEST_CASE("packed weights: a file of its own that older tools write states the bits") {
  const std::vector<Stored> stored{{"l.qweight", "I32", {inputs / 8, outputs}}};
  CHECK(open_model(stored, R"({"bits":4,"group_size":128})", "quantize_config.json").parameters() ==
        weights);
  CHECK(open_model(stored, R"({"w_bit":4,"q_group_size":128})", "quant_config.json").parameters() ==
        weights);
}

TEST_CASE("packed weights: formats of compressed-tensors") {
  const auto config = [](std::string_view format, std::string_view groups) {
    return R"({"text_config":{"quantization_config":{"quant_method":"compressed-tensors",)"
           R"("format":")" +
           std::string(format) + R"(","config_groups":{)" + std::string(groups) + "}}}}";
  };
  const std::string w4 = R"("group_0":{"weights":{"num_bits":4,"group_size":32}})";
  const std::string w8 = R"("group_1":{"weights":{"num_bits":8,"group_size":128}})";
  const std::vector<Stored> packed4{{"l.weight_packed", "I32", {outputs, inputs / 8}},
                                    {"l.weight_scale", "BF16", {outputs, inputs / 32}},
                                    {"l.weight_zero_point", "I32", {outputs / 8, inputs / 32}},
                                    {"l.weight_g_idx", "I32", {inputs}},
                                    {"l.weight_shape", "I64", {2}}};
  check_count("pack-quantized", config("pack-quantized", w4), packed4);
  check_count("two groups, the first", config("pack-quantized", w4 + "," + w8), packed4);
  check_count("two groups, the second", config("pack-quantized", w4 + "," + w8),
              {{"l.weight_packed", "I32", {outputs, inputs / 4}},
               {"l.weight_scale", "BF16", {outputs, inputs / 128}},
               {"l.weight_shape", "I64", {2}}});
  check_count("a scale for each output", config("pack-quantized", w8),
              {{"l.weight_packed", "I32", {outputs, inputs / 4}},
               {"l.weight_scale", "BF16", {outputs, 1}}});
  check_count("nvfp4-pack-quantized", config("nvfp4-pack-quantized", w4),
              {{"l.weight_packed", "U8", {outputs, inputs / 2}},
               {"l.weight_scale", "F8_E4M3", {outputs, inputs / 16}},
               {"l.weight_global_scale", "F32", {1}},
               {"l.input_global_scale", "F32", {1}}});
  check_count("float-quantized", config("float-quantized", w8),
              {{"l.weight", "F8_E4M3", {outputs, inputs}},
               {"l.weight_scale", "BF16", {outputs, 1}},
               {"l.input_scale", "F32", {1}}});
  check_count("int-quantized", config("int-quantized", w8),
              {{"l.weight", "I8", {outputs, inputs}}, {"l.weight_scale", "BF16", {outputs, 1}}});
}

TEST_CASE("packed weights: FP4 and FP8 of ModelOpt, OpenAI, DeepSeek, Quark and ComfyUI") {
  check_count("NVFP4", R"({"quantization_config":{"quant_method":"modelopt"}})",
              {{"l.weight", "U8", {outputs, inputs / 2}},
               {"l.weight_scale", "F8_E4M3", {outputs, inputs / 16}},
               {"l.weight_scale_2", "F32", {}},
               {"l.input_scale", "F32", {}}});
  check_count("NVFP4 without config", "",
              {{"l.weight", "U8", {outputs, inputs / 2}},
               {"l.weight_scale", "F8_E4M3", {outputs, inputs / 16}}});
  check_count("fused experts", "",
              {{"l.experts.gate_up_proj", "U8", {4, outputs, inputs / 2}},
               {"l.experts.gate_up_proj_weight_scale", "F8_E4M3", {4, outputs, inputs / 16}},
               {"l.experts.gate_up_proj_weight_scale_2", "F32", {4}}},
              4 * weights);
  check_count("INT4 of ModelOpt, two rows in a byte", "",
              {{"l.weight", "U8", {outputs / 2, inputs}},
               {"l.weight_scale", "F32", {outputs, inputs / 128}}});
  check_count("MXFP4 of gpt-oss", R"({"quantization_config":{"quant_method":"mxfp4"}})",
              {{"l.experts.down_proj_blocks", "U8", {2, outputs, inputs / 32, 16}},
               {"l.experts.down_proj_scales", "U8", {2, outputs, inputs / 32}},
               {"l.experts.down_proj_bias", "BF16", {2, outputs}}},
              2 * weights + 2 * outputs);
  check_count("MXFP4 of Quark", R"({"quantization_config":{"quant_method":"quark"}})",
              {{"l.weight", "U8", {outputs, inputs / 2}},
               {"l.weight_scale", "U8", {outputs, inputs / 32}}});
  check_count("FP4 experts of DeepSeek", R"({"quantization_config":{"quant_method":"fp8"}})",
              {{"l.w1.weight", "I8", {outputs, inputs / 2}},
               {"l.w1.scale", "F8_E8M0", {outputs, inputs / 32}}});
  check_count("FP8 in blocks", R"({"quantization_config":{"quant_method":"fp8"}})",
              {{"l.weight", "F8_E4M3", {outputs, inputs}},
               {"l.weight_scale_inv", "F32", {outputs / 128, inputs / 128}}});
  check_count("FP8 of ComfyUI", "",
              {{"l.weight", "F8_E4M3", {outputs, inputs}},
               {"l.scale_weight", "F32", {1}},
               {"l.scale_input", "F32", {1}}});
}

TEST_CASE("packed weights: bitsandbytes") {
  const std::string config = R"({"quantization_config":{"quant_method":"bitsandbytes"}})";
  for (const std::string kind : {"nf4", "fp4"}) {
    check_count(kind, config,
                {{"l.weight", "U8", {weights / 2, 1}},
                 {"l.weight.absmax", "U8", {weights / 64}},
                 {"l.weight.quant_map", "F32", {16}},
                 {"l.weight.nested_absmax", "F32", {weights / 64 / 256}},
                 {"l.weight.nested_quant_map", "F32", {256}},
                 {"l.weight.quant_state.bitsandbytes__" + kind, "U8", {93}}});
  }
  check_count("int8", config,
              {{"l.weight", "I8", {outputs, inputs}},
               {"l.SCB", "F32", {outputs}},
               {"l.weight_format", "U8", {}}});
}

TEST_CASE("packed weights: MLX, by the shapes, with exceptions and without a config") {
  const auto layer = [](std::uint64_t bits, std::uint64_t group) {
    return std::vector<Stored>{{"l.weight", "U32", {outputs, inputs * bits / 32}},
                               {"l.scales", "BF16", {outputs, inputs / group}},
                               {"l.biases", "BF16", {outputs, inputs / group}}};
  };
  for (const std::uint64_t bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    CAPTURE(bits);
    const std::string config =
        R"({"quantization":{"group_size":64,"bits":)" + std::to_string(bits) + "}}";
    check_count("MLX", config, layer(bits, 64));
    check_count("of another number of bits than stated", R"({"quantization":{"group_size":64,
                "bits":4}})",
                layer(bits, 64));
    check_count("without config", "", layer(bits, 64));
  }
  check_count("an exception", R"({"quantization":{"group_size":64,"bits":4,
              "l":{"group_size":32,"bits":8}}})",
              layer(8, 32));
  check_count(
      "MXFP4", R"({"quantization":{"group_size":32,"bits":4,"mode":"mxfp4"}})",
      {{"l.weight", "U32", {outputs, inputs / 8}}, {"l.scales", "U8", {outputs, inputs / 32}}});
}

TEST_CASE("packed weights: AQLM, EXL2, EXL3, HQQ, BitNet and Nunchaku") {
  check_count("AQLM", R"({"quantization_config":{"quant_method":"aqlm"}})",
              {{"l.codes", "I16", {outputs, inputs / 8, 1}},
               {"l.codebooks", "F16", {1, 65'536, 1, 8}},
               {"l.scales", "F16", {outputs, 1, 1, 1}}});
  check_count("EXL2", R"({"quantization_config":{"quant_method":"exl2","bits":4.25}})",
              {{"l.q_weight", "I32", {inputs * 17 / 4 / 32, outputs}},
               {"l.q_invperm", "I32", {inputs}},
               {"l.q_scale", "I32", {16, outputs / 8}},
               {"l.q_scale_max", "F16", {16}},
               {"l.q_groups", "I16", {32}}});
  check_count("EXL3", R"({"quantization_config":{"quant_method":"exl3","bits":3.0}})",
              {{"l.trellis", "I16", {inputs / 16, outputs / 16, 48}},
               {"l.suh", "F16", {inputs}},
               {"l.svh", "F16", {outputs}}});
  check_count("HQQ", R"({"quantization_config":{"quant_method":"hqq","quant_config":{
              "weight_quant_params":{"nbits":4,"group_size":64}}}})",
              {{"l.W_q", "U8", {weights / 64 / 2, 64}},
               {"l.scale", "BF16", {weights / 64, 1}},
               {"l.zero", "BF16", {weights / 64, 1}},
               {"l.shape", "I32", {2}},
               {"l.nbits", "I32", {1}}});
  check_count("BitNet", R"({"quantization_config":{"quant_method":"bitnet"}})",
              {{"l.weight", "U8", {outputs / 4, inputs}}, {"l.weight_scale", "BF16", {1}}});
  check_count("Nunchaku", "",
              {{"l.qweight", "I8", {outputs, inputs / 2}},
               {"l.wscales", "BF16", {inputs / 64, outputs}},
               {"l.smooth_factor", "BF16", {inputs}}});
}

TEST_CASE("packed weights: tensors that only resemble tables are counted") {
  check_count("scales without packed weights", "",
              {{"l.weight", "BF16", {outputs, inputs}},
               {"l.scale", "BF16", {outputs}},
               {"n.scales", "F32", {8}}},
              weights + outputs + 8);
  check_count("integers of a model that is not quantised", "",
              {{"position_ids", "I64", {512}}, {"bytes.weight", "U8", {outputs, inputs}}},
              weights + 512);
  const ModelFile model = open_model(
      {{"l.weight", "F8_E4M3", {outputs, inputs}}, {"l.weight_scale", "F32", {outputs}}}, "");
  CHECK(model.find("l.weight")->weights == weights);
  CHECK(model.find("l.weight_scale")->weights == 0);
  CHECK(model.find("l.weight_scale")->elements == outputs);
}

TEST_CASE("packed weights: where nothing says how many are packed, that is said") {
  const ModelFile alone = open_model(
      {{"l.qweight", "I32", {inputs / 8, outputs}}, {"m.qweight", "I32", {inputs / 8, outputs}}},
      "");
  CHECK(alone.parameters() == 2 * weights / 8);
  REQUIRE(alone.warnings().size() == 1);
  CHECK(alone.warnings()[0] ==
        "parameters and bits per weight count the elements of packed tensors: how many weights an "
        "element of 'l.qweight' holds (and of 1 other tensor) is not stated");
  const ModelFile unknown = open_model({{"l.indices", "I32", {1, outputs, inputs / 8}}},
                                       R"({"quantization_config":{"quant_method":"vptq"}})");
  REQUIRE(unknown.warnings().size() == 1);
  CHECK(unknown.warnings()[0].find("'l.indices' holds is not known for vptq") != std::string::npos);
  // Sizes that contradict each other count as unknown, not as billions.
  const ModelFile absurd = open_model(
      {{"l.qweight", "I32", {4, 8}}, {"l.scales", "F16", {1, 8}}, {"l.g_idx", "I32", {4'000'000}}},
      "");
  CHECK(absurd.parameters() == 32);
  CHECK(absurd.warnings().size() == 1);
}

TEST_CASE("packed weights: torchao and FP-Quant") {
  // github.com/huggingface/transformers, quantizer_torchao.py: the parts of a tensor by name.
  const std::string torchao = R"({"quantization_config": {"quant_method": "torchao"}})";
  check_count("int4", torchao,
              {{"l._weight_qdata", "U8", {outputs, inputs / 2}},
               {"l._weight_scale", "BF16", {inputs / 128, outputs}},
               {"l._weight_zero_point", "BF16", {inputs / 128, outputs}}});
  check_count(
      "int8", torchao,
      {{"l._weight_qdata", "I8", {outputs, inputs}}, {"l._weight_scale", "BF16", {outputs, 1}}});
  check_count("nvfp4", torchao,
              {{"l._weight_qdata", "U8", {outputs, inputs / 2}},
               {"l._weight_scale", "F8_E4M3", {outputs, inputs / 16}},
               {"l._weight_per_tensor_scale", "F32", {}},
               {"l._weight_act_per_tensor_scale", "F32", {}}});
  check_count(
      "FP-Quant", R"({"quantization_config": {"quant_method": "fp_quant"}})",
      {{"l.qweight", "U8", {outputs, inputs / 2}}, {"l.scales", "U8", {outputs, inputs / 32}}});
}

TEST_CASE("packed weights: HIGGS") {
  // github.com/huggingface/transformers, integrations/higgs.py: HiggsLinear.
  const auto higgs = [](std::uint64_t bits) {
    return std::vector<Stored>{{"l.weight", "I16", {inputs * bits / 16, outputs}},
                               {"l.scales", "F16", {outputs, inputs / 256}},
                               {"l.tables", "F16", {std::uint64_t{1} << bits}},
                               {"l.tables2", "F32", {1u << bits, 1u << bits, 1}}};
  };
  for (const std::uint64_t bits : {2u, 3u, 4u}) check_count("by its table", "", higgs(bits));
  check_count("of its config", R"({"quantization_config":{"quant_method":"higgs","bits":4}})",
              higgs(4));
}

TEST_CASE("packed weights: Marlin with two of four weights") {
  // github.com/vllm-project/vllm, gptq_marlin_24.py: half of the weights, and which those are.
  for (const std::uint64_t bits : {4u, 8u}) {
    check_count("Marlin 2:4", "",
                {{"l.B_24", "I32", {inputs / 32, outputs * 16 * bits / 32}},
                 {"l.B_meta", "I16", {inputs / 32, outputs * 2}},
                 {"l.s", "F16", {1, outputs}},
                 {"l.workspace", "I32", {48}}});
  }
}

TEST_CASE("packed weights: quanto") {
  // github.com/huggingface/optimum-quanto, nn/qmodule.py, tensor/packed.py and grouped.py.
  for (const std::uint64_t bits : {2u, 4u}) {
    check_count("in groups", "",
                {{"l.weight._data._data", "U8", {weights / 128 * bits / 8, 128}},
                 {"l.weight._scale", "BF16", {weights / 128, 1}},
                 {"l.weight._shift", "BF16", {weights / 128, 1}},
                 {"l.input_scale", "F32", {}},
                 {"l.output_scale", "F32", {}}});
  }
  check_count("an odd number of rows", "",
              {{"l.weight._data._data", "U8", {193, inputs}},
               {"l.weight._scale", "F16", {385, 1}},
               {"l.weight._shift", "F16", {385, 1}}},
              385 * inputs);
  check_count("8 bits", "",
              {{"l.weight._data", "I8", {outputs, inputs}},
               {"l.weight._scale", "BF16", {outputs, 1}},
               {"l.input_scale", "F32", {}},
               {"l.output_scale", "F32", {}}});
}

TEST_CASE("packed weights: VPTQ") {
  // github.com/microsoft/VPTQ, vptq/layers/vqlinear.py: an index of 16 bits for 8 weights.
  const std::vector<Stored> stored{{"l.indices", "I32", {1, outputs / 8, inputs / 2}},
                                   {"l.centroids.weight", "F16", {1, 65'536 * 8}},
                                   {"l.res_centroids.weight", "F16", {1, 256 * 8}},
                                   {"l.outlier_indices", "I16", {1, outputs / 4, 8}},
                                   {"l.outlier_centroids.weight", "F16", {1, 4096 * 4}},
                                   {"l.weight_scale", "F16", {inputs}},
                                   {"l.weight_bias", "F16", {inputs}},
                                   {"l.perm", "I16", {inputs}},
                                   {"l.bias", "F16", {outputs}}};
  check_count("sizes", R"({"quantization_config":{"quant_method":"vptq","config_for_layers":{
              "l":{"in_features":1024,"out_features":384,"vector_lens":[-1,8]}}}})",
              stored, weights + outputs);
  check_count("length of a vector", R"({"quantization_config":{"quant_method":"vptq",
              "config_for_layers":{"l":{"vector_lens":[4,8]}}}})",
              stored, weights + outputs);
  check_count("indices that are not packed", R"({"quantization_config":{"quant_method":"vptq",
              "config_for_layers":{"l":{"in_features":1024,"out_features":384}}}})",
              {{"l.indices", "I16", {1, outputs / 8, inputs}},
               {"l.res_indices", "I16", {1, outputs / 8, inputs}},
               {"l.centroids.weight", "F16", {1, 65'536 * 8}}});
}

TEST_CASE("packed weights: words of 64 bits are no weights of a quantised model") {
  const ModelFile model =
      open_model({{"l.Qidxs_0", "I64", {outputs, inputs / 32}}, {"l.SU", "F16", {inputs}}},
                 R"({"quantization_config": {"quant_method": "quip"}})");
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("'l.Qidxs_0' holds is not known for quip") != std::string::npos);
}
