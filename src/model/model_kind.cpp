// SPDX-License-Identifier: MIT
#include "model/model_kind.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/config_file.hpp"
#include "model/text.hpp"

namespace hiptool {
namespace model {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::find(texts, text) != texts.end();
}

// Names of PEFT, kohya's sd-scripts, MLX and llama.cpp: LoRA, DoRA, LoHa, LoKr, IA3.
bool is_adapter_tensor(std::string_view name) {
  constexpr std::array<std::string_view, 14> marks{".lora_A.",
                                                   ".lora_B.",
                                                   ".lora_down.",
                                                   ".lora_up.",
                                                   ".lora_embedding_",
                                                   ".hada_w",
                                                   ".lokr_w",
                                                   ".ia3_l",
                                                   ".lora_magnitude_vector",
                                                   ".dora_scale",
                                                   ".lora.down.",
                                                   ".lora.up.",
                                                   ".lora_linear_layer.",
                                                   ".lora_mid."};
  constexpr std::array<std::string_view, 5> ends{".lora_a", ".lora_b", ".loraA", ".loraB",
                                                 ".alpha"};
  const auto contains = [name](std::string_view mark) { return name.find(mark) != name.npos; };
  const auto ends_so = [name](std::string_view end) { return name.ends_with(end); };
  return std::ranges::any_of(marks, contains) || std::ranges::any_of(ends, ends_so);
}

// Adapters may also hold whole tensors (modules_to_save); models of Nunchaku a few small ones.
bool has_mostly_adapter_tensors(const Contents& contents) {
  const auto count = std::ranges::count_if(
      contents.tensors, [](const TensorInfo& tensor) { return is_adapter_tensor(tensor.name); });
  return count > 0 && static_cast<std::size_t>(count) * 2 >= contents.tensors.size();
}

ModelKind gguf_kind(const Contents& contents) {
  const auto text = [&contents](std::string_view key) -> std::string_view {
    const auto* found = contents.metadata.value<std::string>(key);
    return found == nullptr ? std::string_view() : *found;
  };
  const auto has_array = [&contents](std::string_view key) {
    return contents.metadata.value<StoredArray>(key) != nullptr;
  };
  const std::string_view type = text("general.type");
  const std::string_view architecture = text("general.architecture");
  if (architecture == "controlvector") return ModelKind::control_vector;
  if (type == "adapter" || has_mostly_adapter_tensors(contents)) return ModelKind::adapter;
  if (type == "imatrix" || has_array("imatrix.datasets")) return ModelKind::imatrix;
  if (is_one_of(type, {"mmproj", "projector"}) || architecture == "clip") {
    return ModelKind::projector;
  }
  // llama.cpp computes these only next to the model that they draft for.
  if (is_one_of(architecture, {"eagle3", "dflash", "gemma4-assistant"})) return ModelKind::draft;
  const bool has_vocabulary = has_array("tokenizer.ggml.tokens");
  if (type == "vocab" || (has_vocabulary && contents.tensors.empty())) {
    return ModelKind::vocabulary;
  }
  return ModelKind::model;
}

ModelKind safetensors_kind(const Contents& contents) {
  const auto has = [&contents](std::string_view name) {
    return contents.index.find(contents.tensors, name) != nullptr;
  };
  if (has_mostly_adapter_tensors(contents)) return ModelKind::adapter;
  if (has("prompt_embeddings") && contents.tensors.size() <= 2) return ModelKind::adapter;
  // EAGLE-3 maps its small vocabulary to the model's and back; Medusa has heads alone.
  if (has("d2t") && has("t2d")) return ModelKind::draft;
  const bool is_medusa = !contents.tensors.empty() &&
                         std::ranges::all_of(contents.tensors, [](const TensorInfo& tensor) {
                           return tensor.name.find("medusa_head") != std::string::npos;
                         });
  return is_medusa ? ModelKind::draft : ModelKind::model;
}

// The first of these keys that is a text.
std::optional<std::string> first_text(const ModelFile& model,
                                      std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (auto text = model.text(key); text && !text->empty()) return text;
  }
  return std::nullopt;
}

// A text in PEFT's adapter_config.json next to the file.
std::optional<std::string> text_in_adapter_config(const ModelFile& model, const char* key) {
  if (model.format() != ModelFormat::safetensors || model.files().empty()) return std::nullopt;
  nlohmann::json json;
  const auto path = model.files().front().path.parent_path() / "adapter_config.json";
  if (!read_config_file(path, json).empty()) return std::nullopt;
  const auto name = json.find(key);
  if (name == json.end() || !name->is_string()) return std::nullopt;
  return name->get<std::string>();
}

// PEFT has more methods than LoRA: IA3, PROMPT_TUNING, LOHA.
std::string adapter_name(const ModelFile& model) {
  const std::string method = text_in_adapter_config(model, "peft_type").value_or("LORA");
  if (base::equals_ignoring_case(method, "LORA")) return "LoRA adapter";
  const bool is_plain = !method.empty() && std::ranges::all_of(method, [](char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
  });
  return is_plain ? method + " adapter" : "adapter";
}

std::optional<std::string> base_model_of(const ModelFile& model) {
  if (model.format() == ModelFormat::safetensors) {
    if (auto base = text_in_adapter_config(model, "base_model_name_or_path")) return base;
    return first_text(model, {"ss_base_model_version", "ss_sd_model_name"});
  }
  return first_text(model, {"general.base_model.0.repo_url", "general.base_model.0.name"});
}

}  // namespace

ModelKind find_model_kind(const Contents& contents) {
  return contents.format == ModelFormat::gguf ? gguf_kind(contents) : safetensors_kind(contents);
}

std::string model_kind_name(const ModelFile& model) {
  switch (model.kind()) {
    case ModelKind::model: return "model";
    case ModelKind::adapter: return adapter_name(model);
    case ModelKind::control_vector: return "control vector";
    case ModelKind::imatrix: return "importance matrix (imatrix)";
    case ModelKind::projector: return "multimodal projector (mmproj)";
    case ModelKind::vocabulary: return "vocabulary without weights";
    case ModelKind::draft: return "draft head for speculative decoding";
  }
  return "model";
}

std::string goes_with(const ModelFile& model) {
  const bool is_gguf = model.format() == ModelFormat::gguf;
  switch (model.kind()) {
    case ModelKind::model: return {};
    case ModelKind::adapter: {
      const auto base = base_model_of(model);
      const std::string name = base ? " (" + in_quotes(*base) + ")" : "";
      return "load its base model" + name + ", and add this file there, such as with " +
             (is_gguf ? "llama.cpp's --lora" : "PEFT");
    }
    case ModelKind::control_vector: {
      const auto hint = first_text(model, {"controlvector.model_hint"});
      return "load the " + (hint ? in_quotes(*hint) + " " : std::string()) +
             "model that it was made for, and add this file with llama.cpp's --control-vector";
    }
    case ModelKind::imatrix:
      return "load the model; llama-quantize --imatrix takes this file when a model is quantised";
    case ModelKind::projector:
      return "load the language model that it belongs to, and add this file with llama.cpp's "
             "--mmproj";
    case ModelKind::vocabulary: return "download the model that has this vocabulary and weights";
    case ModelKind::draft:
      return "load the model that it drafts for, and add this file as the draft model, such as "
             "with llama.cpp's --model-draft";
  }
  return {};
}

void require_model(const ModelFile& model, const char* operation) {
  if (model.kind() == ModelKind::model) return;
  const std::string name = model_kind_name(model);
  const bool takes_an = std::string_view("aeioAEIO").find(name.front()) != std::string_view::npos;
  throw Error(ErrorCode::input_failed, operation,
              model.path().string() + " is " + (takes_an ? "an " : "a ") + name + ", not a model",
              goes_with(model));
}

}  // namespace model

std::string_view to_string(ModelKind kind) noexcept {
  switch (kind) {
    case ModelKind::model: return "model";
    case ModelKind::adapter: return "adapter";
    case ModelKind::control_vector: return "control-vector";
    case ModelKind::imatrix: return "imatrix";
    case ModelKind::projector: return "projector";
    case ModelKind::vocabulary: return "vocabulary";
    case ModelKind::draft: return "draft";
  }
  return "model";
}

}  // namespace hiptool
