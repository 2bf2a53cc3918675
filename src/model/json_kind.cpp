// SPDX-License-Identifier: MIT
#include "model/json_kind.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "model/json_reader.hpp"

namespace hiptool::model {
namespace {

struct KnownJson {
  std::string_view member;  // that files of the kind have
  std::string_view name;
};

// In this order: a configuration may have members of later kinds.
constexpr std::array json_kinds{
    KnownJson{"peft_type", "the configuration of an adapter (adapter_config.json)"},
    KnownJson{"architectures", "the configuration of a model (config.json)"},
    KnownJson{"model_type", "the configuration of a model (config.json)"},
    KnownJson{"_class_name", "the configuration of a part of a pipeline (diffusers)"},
    KnownJson{"added_tokens", "a tokenizer (tokenizer.json)"},
    KnownJson{"tokenizer_class", "the configuration of a tokenizer (tokenizer_config.json)"},
    KnownJson{"quant_method", "the configuration of a quantisation"},
    KnownJson{"eos_token_id", "a configuration (generation_config.json)"},
    KnownJson{"n_layers", "the configuration of a model (params.json)"},
    KnownJson{"chat_template", "a chat template (chat_template.json)"},
    KnownJson{"image_processor_type", "the configuration of a preprocessor"},
};

}  // namespace

void refuse_json(const base::File& file, Diagnostics& diagnostics) {
  std::size_t found = json_kinds.size();
  bool is_error = false;
  JsonReader json(file, 0, file.size_bytes(), diagnostics);
  if (json.next() == JsonReader::Kind::object) {
    json.enter();
    for (std::string key; json.next_key(key); json.skip()) {
      is_error = is_error || key == "error";
      for (std::size_t kind = 0; kind < found; ++kind) {
        if (json_kinds[kind].member == key) found = kind;
      }
    }
  }
  if (is_error) {
    diagnostics.unreadable_kind(
        {}, "the file is the error message of a server (JSON), saved in place of the model",
        "download the model again, with a token if its repository is private or gated");
  }
  if (file.path().filename() == "model_index.json") {
    diagnostics.unreadable_kind(
        {},
        "the file is JSON text: the list of a pipeline's parts (diffusers), "
        "each of which is a model of its own",
        "name the folder of one part, such as transformer, unet or vae");
  }
  if (found < json_kinds.size()) {
    const std::filesystem::path folder = file.path().parent_path();
    diagnostics.unreadable_kind(
        {}, "the file is JSON text: " + std::string(json_kinds[found].name) + ", not a model",
        "name the model next to it, or its folder " + (folder.empty() ? "." : folder.string()));
  }
  diagnostics.unreadable_kind(
      {}, "the file is JSON text, but neither the index of a set nor a manifest",
      "name the model file, its index (model.safetensors.index.json) or its folder");
}

}  // namespace hiptool::model
