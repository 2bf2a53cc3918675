// SPDX-License-Identifier: MIT
#include "model/model_kind.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "builders.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::uint32_t text_type = 8;
constexpr std::uint32_t array_type = 9;

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Each tensor has 32 bytes.
ModelFile open_gguf(const Pairs& pairs, const std::vector<std::string>& tensors,
                    bool has_tokens = false) {
  Gguf file;
  for (const auto& [key, value] : pairs) file.pair(key, text_type, Bytes().text(value));
  if (has_tokens) {
    file.pair("tokenizer.ggml.tokens", array_type, Bytes().u32(text_type).u64(1).text("a"));
  }
  std::uint64_t at = 0;
  for (const std::string& name : tensors) {
    file.tensor(name, {8}, 0, at);
    at += 32;
  }
  const TemporaryFile written(file.data(at).bytes());
  return ModelFile::open(written.path());
}

ModelFile open_safetensors(const std::filesystem::path& folder,
                           const std::vector<std::string>& names) {
  std::string header = "{";
  std::uint64_t at = 0;
  for (const std::string& name : names) {
    header += (at == 0 ? "\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
              std::to_string(at) + "," + std::to_string(at + 4) + "]}";
    at += 4;
  }
  std::ofstream(folder / "m.safetensors", std::ios::binary) << safetensors(header + "}", at);
  return ModelFile::open(folder / "m.safetensors");
}

void check_companion(const ModelFile& model, ModelKind kind, std::string_view name,
                     std::string_view use) {
  CHECK(model.kind() == kind);
  CHECK(model::model_kind_name(model) == name);
  CAPTURE(model::goes_with(model));
  CHECK(model::goes_with(model).find(use) != std::string::npos);
  try {
    static_cast<void>(DecoderSpec::read(model));
    FAIL("nothing can be computed with it");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::input_failed);
    CHECK(std::string(error.what()).find(std::string(name) + ", not a model") != std::string::npos);
    CHECK(error.hint() == model::goes_with(model));
  }
}

}  // namespace

TEST_CASE("GGUF files that accompany a model are known by their metadata") {
  const std::string architecture = "general.architecture";
  const std::string type = "general.type";
  check_companion(open_gguf({{architecture, "llama"},
                             {type, "adapter"},
                             {"adapter.type", "lora"},
                             {"general.base_model.0.name", "Llama 3 8B"}},
                            {"blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"}),
                  ModelKind::adapter, "LoRA adapter", "base model ('Llama 3 8B')");
  // Of llama.cpp's finetune, without a type.
  check_companion(open_gguf({{architecture, "llama"}},
                            {"blk.0.attn_q.weight.loraA", "blk.0.attn_q.weight.loraB"}),
                  ModelKind::adapter, "LoRA adapter", "--lora");
  check_companion(open_gguf({{type, "imatrix"}}, {"blk.0.attn_q.weight.in_sum2"}),
                  ModelKind::imatrix, "importance matrix (imatrix)", "llama-quantize --imatrix");
  check_companion(open_gguf({{architecture, "clip"}}, {"v.patch_embd.weight"}),
                  ModelKind::projector, "multimodal projector (mmproj)", "--mmproj");
  check_companion(open_gguf({{architecture, "qwen2vl"}, {type, "mmproj"}}, {"mm.0.weight"}),
                  ModelKind::projector, "multimodal projector (mmproj)", "--mmproj");
  check_companion(
      open_gguf({{architecture, "controlvector"}, {"controlvector.model_hint", "mistral"}},
                {"direction.1"}),
      ModelKind::control_vector, "control vector", "load the 'mistral' model");
  check_companion(open_gguf({{architecture, "llama"}}, {}, true), ModelKind::vocabulary,
                  "vocabulary without weights", "download the model");
  for (const char* draft : {"eagle3", "dflash", "gemma4-assistant"}) {
    check_companion(open_gguf({{architecture, draft}}, {"fc.weight"}), ModelKind::draft,
                    "draft head for speculative decoding", "--model-draft");
  }
  CHECK(open_gguf({{architecture, "llama"}, {type, "model"}}, {"token_embd.weight"}, true).kind() ==
        ModelKind::model);
}

TEST_CASE("safetensors that accompany a model are known by their tensors") {
  const TemporaryFolder folder;
  const auto open = [&](const std::vector<std::string>& names) {
    return open_safetensors(folder.path(), names);
  };
  const std::string layer = "base_model.model.model.layers.0.self_attn.q_proj.";
  for (const auto& names : std::vector<std::vector<std::string>>{
           {layer + "lora_A.weight", layer + "lora_B.weight"},
           {layer + "lora_A.weight", layer + "lora_B.weight", "base_model.model.lm_head.weight"},
           {"lora_unet_a.lora_down.weight", "lora_unet_a.lora_up.weight", "lora_unet_a.alpha"},
           {"layers.0.q_proj.lora_a", "layers.0.q_proj.lora_b"},
           {"a.hada_w1_a", "a.hada_w1_b", "a.hada_w2_a", "a.hada_w2_b"},
           {"a.lokr_w1", "a.lokr_w2"},
           {"prompt_embeddings"}}) {
    CAPTURE(names.front());
    check_companion(open(names), ModelKind::adapter, "LoRA adapter", "base model, and add");
  }
  std::ofstream(folder.path() / "adapter_config.json")
      << R"({"peft_type":"LORA","base_model_name_or_path":"org/base"})";
  check_companion(open({layer + "lora_A.weight", layer + "lora_B.weight"}), ModelKind::adapter,
                  "LoRA adapter", "base model ('org/base')");
  check_companion(open({"d2t", "t2d", "fc.weight", "midlayer.mlp.up_proj.weight"}),
                  ModelKind::draft, "draft head for speculative decoding", "draft model");
  check_companion(open({"0.0.medusa_head.weight", "1.medusa_head.weight"}), ModelKind::draft,
                  "draft head for speculative decoding", "draft model");
  // A few low-rank tensors do not make an adapter: Nunchaku has them in each layer.
  CHECK(open({"a.qweight", "a.wscales", "a.smooth", "a.lora_down.x", "a.lora_up.x"}).kind() ==
        ModelKind::model);
  CHECK(open({"model.embed_tokens.weight"}).kind() == ModelKind::model);
}
