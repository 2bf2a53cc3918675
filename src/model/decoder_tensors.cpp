// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/decoder_reading.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

/// The names of tensors by their part in a decoder.
struct TensorNames {
  std::string_view embedding, output_norm, output, layer;
  std::string_view attention_norm, q, k, v, q_norm, k_norm, attention_output;
  std::string_view feed_forward_norm, gate, up, down;
};

// llama.cpp's gguf-py/gguf/constants.py (TENSOR_NAMES).
constexpr TensorNames gguf_names{"token_embd",  "output_norm", "output",      "blk.",
                                 "attn_norm",   "attn_q",      "attn_k",      "attn_v",
                                 "attn_q_norm", "attn_k_norm", "attn_output", "ffn_norm",
                                 "ffn_gate",    "ffn_up",      "ffn_down"};
// Hugging Face transformers, modeling_llama.py; those of qwen2 and qwen3 are the same.
constexpr TensorNames config_names{
    "model.embed_tokens", "model.norm",       "lm_head",          "model.layers.",
    "input_layernorm",    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
    "self_attn.q_norm",   "self_attn.k_norm", "self_attn.o_proj", "post_attention_layernorm",
    "mlp.gate_proj",      "mlp.up_proj",      "mlp.down_proj"};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

/// Looks tensors up, checks their shapes and remembers them.
class TensorFinder {
 public:
  explicit TensorFinder(const ModelFile& model)
      : model_(model), is_gguf_(model.format() == ModelFormat::gguf) {}

  bool has(const std::string& name) const { return model_.find(name) != nullptr; }

  std::string vector(std::string name, std::uint64_t extent) {
    return check(std::move(name), {extent});
  }

  std::string matrix(std::string name, std::uint64_t rows, std::uint64_t columns) {
    // GGUF writes the fastest extent first.
    if (is_gguf_) return check(std::move(name), {columns, rows});
    return check(std::move(name), {rows, columns});
  }

  MatrixSpec product(const std::string& name, std::uint64_t rows, std::uint64_t columns,
                     Bias bias) {
    MatrixSpec product;
    product.weight = matrix(name + ".weight", rows, columns);
    product.rows = rows;
    product.columns = columns;
    const bool has_bias = bias == Bias::where_stored && has(name + ".bias");
    if (has_bias || bias == Bias::always) product.bias = vector(name + ".bias", rows);
    return product;
  }

  /// A tensor without a place would change the results of a program that knows one.
  void refuse_others(const DecoderSpec& spec) const {
    for (const TensorInfo& tensor : model_.tensors()) {
      if (used_.count(tensor.name) > 0 || is_known_copy(tensor.name)) continue;
      refuse_decoder(model_.files()[tensor.file].path,
                     "tensor " + in_quotes(tensor.name) + " has no place in the architecture " +
                         spec.architecture,
                     "models with further tensors (adapters, experts) are not supported yet");
    }
  }

 private:
  std::string check(std::string name, const std::vector<std::uint64_t>& shape) {
    const TensorInfo* tensor = model_.find(name);
    if (tensor == nullptr) {
      refuse_decoder(model_.path(), "tensor " + in_quotes(name) + " is missing",
                     "use a complete model; all files of a set must be there");
    }
    if (tensor->shape != shape) {
      refuse_decoder(model_.files()[tensor->file].path,
                     "tensor " + in_quotes(name) + " has the shape " + shape_text(tensor->shape) +
                         " in place of " + shape_text(shape),
                     "metadata and tensors must be those of one model");
    }
    used_.insert(name);
    return name;
  }

  // Values that follow from others: programs of the architecture do not read them.
  static bool is_known_copy(std::string_view name) {
    constexpr std::string_view frequencies = ".rotary_emb.inv_freq";
    return name.size() > frequencies.size() &&
           name.substr(name.size() - frequencies.size()) == frequencies;
  }

  const ModelFile& model_;
  bool is_gguf_;
  std::unordered_set<std::string> used_;
};

void name_layer(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
                const DecoderSpec& spec, std::size_t number, DecoderLayer& layer) {
  const std::string prefix = std::string(names.layer) + std::to_string(number) + ".";
  const auto name = [&](std::string_view part) { return prefix + std::string(part); };
  const std::uint64_t width = spec.embedding;
  layer.attention_norm = find.vector(name(names.attention_norm) + ".weight", width);
  layer.q = find.product(name(names.q), layer.heads * spec.key_length, width, tensors.qkv_bias);
  layer.k = find.product(name(names.k), layer.kv_heads * spec.key_length, width, tensors.qkv_bias);
  layer.v =
      find.product(name(names.v), layer.kv_heads * spec.value_length, width, tensors.qkv_bias);
  if (tensors.has_head_norms) {
    layer.q_norm = find.vector(name(names.q_norm) + ".weight", spec.key_length);
    layer.k_norm = find.vector(name(names.k_norm) + ".weight", spec.key_length);
  }
  layer.attention_output =
      find.product(name(names.attention_output), width, layer.heads * spec.value_length,
                   tensors.attention_output_bias);
  layer.feed_forward_norm = find.vector(name(names.feed_forward_norm) + ".weight", width);
  const Bias bias = tensors.feed_forward_bias;
  layer.gate = find.product(name(names.gate), layer.feed_forward, width, bias);
  layer.up = find.product(name(names.up), layer.feed_forward, width, bias);
  layer.down = find.product(name(names.down), width, layer.feed_forward, bias);
}

void name_divisors(TensorFinder& find, const DecoderTensors& tensors, RopeSpec& rope) {
  const std::uint64_t pairs = rope.dimensions / 2;
  if (rope.scaling == RopeScaling::longrope) {
    rope.divisors_tensor = find.vector("rope_factors_short.weight", pairs);
    rope.long_divisors_tensor = find.vector("rope_factors_long.weight", pairs);
  } else if (tensors.may_have_divisors && find.has("rope_freqs.weight")) {
    rope.divisors_tensor = find.vector("rope_freqs.weight", pairs);
  }
}

}  // namespace

void name_decoder_tensors(const ModelFile& model, const DecoderTensors& tensors,
                          DecoderSpec& spec) {
  const bool is_gguf = model.format() == ModelFormat::gguf;
  const TensorNames& names = is_gguf ? gguf_names : config_names;
  const auto whole = [](std::string_view name) { return std::string(name) + ".weight"; };
  TensorFinder find(model);
  if (is_gguf) {
    name_divisors(find, tensors, spec.rope);
  }
  // transformers 5 takes a matrix that the file has, whatever tie_word_embeddings says.
  if (is_gguf || spec.is_tied) spec.is_tied = !find.has(whole(names.output));
  spec.embedding_tensor = find.matrix(whole(names.embedding), spec.vocabulary, spec.embedding);
  spec.output_norm = find.vector(whole(names.output_norm), spec.embedding);
  const std::string output(spec.is_tied ? names.embedding : names.output);
  spec.output = find.product(output, spec.vocabulary, spec.embedding, Bias::never);
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    name_layer(find, names, tensors, spec, number, spec.layers[number]);
  }
  find.refuse_others(spec);
}

}  // namespace hiptool::model
