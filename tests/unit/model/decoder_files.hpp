// SPDX-License-Identifier: MIT
/// Descriptions of small decoders, which tests change.
#pragma once
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "refusal.hpp"
#include "support.hpp"

namespace hiptool::test {

/// A GGUF with the keys and tensors of a decoder, each of which a test may change or remove.
struct DecoderFile {
  std::string architecture = "llama";
  std::vector<std::pair<std::string, nlohmann::json>>
      keys;  // a name begins with the architecture or not
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> tensors;

  static DecoderFile llama() {
    DecoderFile file;
    file.keys = {{"block_count", 2},
                 {"context_length", 64},
                 {"embedding_length", 12},
                 {"feed_forward_length", 20},
                 {"attention.head_count", 3},
                 {"attention.head_count_kv", 1},
                 {"attention.layer_norm_rms_epsilon", 1e-5},
                 {"vocab_size", 7}};
    file.tensors = {{"token_embd.weight", {12, 7}}, {"output_norm.weight", {12}}};
    for (const std::string prefix : {"blk.0.", "blk.1."}) {
      for (const auto& [name, shape] :
           std::vector<std::pair<std::string, std::vector<std::uint64_t>>>{
               {"attn_norm", {12}},
               {"attn_q", {12, 12}},
               {"attn_k", {12, 4}},
               {"attn_v", {12, 4}},
               {"attn_output", {12, 12}},
               {"ffn_norm", {12}},
               {"ffn_gate", {12, 20}},
               {"ffn_up", {12, 20}},
               {"ffn_down", {20, 12}}}) {
        file.tensors.emplace_back(prefix + name + ".weight", shape);
      }
    }
    return file;
  }

  DecoderFile& set(const std::string& name, nlohmann::json value) {
    for (auto& [key, old] : keys) {
      if (key == name) {
        old = std::move(value);
        return *this;
      }
    }
    keys.emplace_back(name, std::move(value));
    return *this;
  }
  DecoderFile& remove_key(const std::string& name) {
    std::erase_if(keys, [&](const auto& key) { return key.first == name; });
    return *this;
  }
  DecoderFile& tensor(const std::string& name, std::vector<std::uint64_t> shape) {
    remove_tensor(name);
    tensors.emplace_back(name, std::move(shape));
    return *this;
  }
  DecoderFile& remove_tensor(const std::string& name) {
    std::erase_if(tensors, [&](const auto& tensor) { return tensor.first == name; });
    return *this;
  }

  std::string bytes() const {
    Gguf file;
    file.pair("general.architecture", 8, Bytes().text(architecture));
    for (const auto& [name, value] : keys) put(file, architecture + "." + name, value);
    std::uint64_t offset = 0;
    for (const auto& [name, shape] : tensors) {
      file.tensor(name, shape, 0, offset);
      std::uint64_t elements = 1;
      for (const std::uint64_t extent : shape) elements *= extent;
      offset = (offset + elements * 4 + 31) / 32 * 32;
    }
    file.data(offset);
    return file.bytes();
  }

  static void put(Gguf& file, const std::string& name, const nlohmann::json& value) {
    if (value.is_number_float()) {
      file.pair(name, 6, Bytes().number(value.get<float>()));
    } else if (value.is_boolean()) {
      file.pair(name, 7, Bytes().number<std::uint8_t>(value.get<bool>() ? 1 : 0));
    } else if (value.is_string()) {
      file.pair(name, 8, Bytes().text(value.get<std::string>()));
    } else if (value.is_array()) {
      const bool is_flags = value.front().is_boolean();
      Bytes bytes;
      bytes.u32(is_flags ? 7 : 5).u64(value.size());
      for (const nlohmann::json& element : value) {
        if (is_flags) {
          bytes.number<std::uint8_t>(element.get<bool>() ? 1 : 0);
        } else {
          bytes.number(element.get<std::int32_t>());
        }
      }
      file.pair(name, 9, bytes);
    } else {
      file.pair(name, 5, Bytes().number(value.get<std::int32_t>()));
    }
  }

  DecoderSpec read() const {
    const TemporaryFile file(bytes());
    return DecoderSpec::read(ModelFile::open(file.path()));
  }
};

/// A folder as Hugging Face has it, with the same decoder.
struct ConfigFolder {
  nlohmann::json config = {{"model_type", "llama"},
                           {"hidden_size", 12},
                           {"intermediate_size", 20},
                           {"num_hidden_layers", 1},
                           {"num_attention_heads", 3},
                           {"num_key_value_heads", 1},
                           {"vocab_size", 7},
                           {"max_position_embeddings", 64},
                           {"rms_norm_eps", 1e-5},
                           {"tie_word_embeddings", true},
                           {"architectures", {"LlamaForCausalLM"}},
                           {"torch_dtype", "bfloat16"}};
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> tensors = {
      {"model.embed_tokens.weight", {7, 12}},
      {"model.norm.weight", {12}},
      {"model.layers.0.input_layernorm.weight", {12}},
      {"model.layers.0.self_attn.q_proj.weight", {12, 12}},
      {"model.layers.0.self_attn.k_proj.weight", {4, 12}},
      {"model.layers.0.self_attn.v_proj.weight", {4, 12}},
      {"model.layers.0.self_attn.o_proj.weight", {12, 12}},
      {"model.layers.0.post_attention_layernorm.weight", {12}},
      {"model.layers.0.mlp.gate_proj.weight", {20, 12}},
      {"model.layers.0.mlp.up_proj.weight", {20, 12}},
      {"model.layers.0.mlp.down_proj.weight", {12, 20}}};

  std::string dtype = "F32";
  std::map<std::string, std::string> dtypes;  ///< of tensors with another one

  DecoderSpec read() const {
    const TemporaryFolder folder;
    nlohmann::json header = nlohmann::json::object();
    std::size_t offset = 0;
    for (const auto& [name, shape] : tensors) {
      const auto own = dtypes.find(name);
      const std::string& type = own != dtypes.end() ? own->second : dtype;
      const std::size_t element_bytes = type == "F32" ? 4 : type.starts_with("F8") ? 1 : 2;
      std::size_t elements = 1;
      for (const std::uint64_t extent : shape) elements *= extent;
      const std::size_t end = offset + elements * element_bytes;
      header[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {offset, end}}};
      offset = end;
    }
    write_file(folder / "model.safetensors", safetensors(header.dump(), offset));
    std::ofstream(folder / "config.json") << config.dump();
    return DecoderSpec::read(ModelFile::open(folder / "model.safetensors"));
  }
};

template <typename Source>
std::string refusal_of_decoder(const Source& source) {
  try {
    source.read();
  } catch (const Error& error) {
    CHECK_FALSE(error.hint().empty());
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "accepted";
}

inline DecoderFile llama_file() { return DecoderFile::llama(); }

inline ConfigFolder config_with(const char* name, const nlohmann::json& value) {
  ConfigFolder folder;
  folder.config[name] = value;
  return folder;
}

template <typename Source, typename... Parts>
void check_refusal(const Source& source, const Parts&... parts) {
  check_message(refusal_of_decoder(source), "input_failed", parts...);
}

}  // namespace hiptool::test
