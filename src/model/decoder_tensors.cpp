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
  std::string_view gate, up, down;
  std::string_view attention_post_norm, feed_forward_post_norm;
  std::string_view router, experts;  ///< `experts`: in front of the names of their matrices
  std::string_view expert_gate, expert_up, expert_down;
};

// llama.cpp's gguf-py/gguf/constants.py (TENSOR_NAMES).
constexpr TensorNames gguf_names{
    "token_embd",    "output_norm",  "output", "blk.",          "attn_norm",
    "attn_q",        "attn_k",       "attn_v", "attn_q_norm",   "attn_k_norm",
    "attn_output",   "ffn_gate",     "ffn_up", "ffn_down",      "post_attention_norm",
    "post_ffw_norm", "ffn_gate_inp", "",       "ffn_gate_exps", "ffn_up_exps",
    "ffn_down_exps"};
// Hugging Face transformers, modeling_llama.py; the others are the same. Experts:
// modeling_qwen3_moe.py, as files have them.
constexpr TensorNames config_names{"model.embed_tokens",
                                   "model.norm",
                                   "lm_head",
                                   "model.layers.",
                                   "input_layernorm",
                                   "self_attn.q_proj",
                                   "self_attn.k_proj",
                                   "self_attn.v_proj",
                                   "self_attn.q_norm",
                                   "self_attn.k_norm",
                                   "self_attn.o_proj",
                                   "mlp.gate_proj",
                                   "mlp.up_proj",
                                   "mlp.down_proj",
                                   "post_attention_layernorm",
                                   "post_feedforward_layernorm",
                                   "mlp.gate",
                                   "mlp.experts.",
                                   "gate_proj",
                                   "up_proj",
                                   "down_proj"};

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

  bool is_gguf() const { return is_gguf_; }
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

  /// GGUF has one tensor of all experts, safetensors one of each.
  ExpertMatrices experts(const std::string& prefix, const TensorNames& names, std::string_view part,
                         std::uint64_t count, std::uint64_t rows, std::uint64_t columns,
                         Bias bias) {
    ExpertMatrices all;
    all.rows = rows;
    all.columns = columns;
    if (is_gguf_) {
      const std::string name = prefix + std::string(part) + ".weight";
      all.weights.push_back(check(name, {columns, rows, count}));
      if (bias == Bias::always) {
        all.bias = check(prefix + std::string(part) + ".bias", {rows, count});
      }
      return all;
    }
    for (std::uint64_t expert = 0; expert < count; ++expert) {
      all.weights.push_back(matrix(prefix + std::string(names.experts) + std::to_string(expert) +
                                       "." + std::string(part) + ".weight",
                                   rows, columns));
    }
    return all;
  }

  /// "PREFIXblocks", "PREFIXscales" and "PREFIXbias" of transformers' integrations/mxfp4.py.
  ExpertMatrices packed_experts(const std::string& prefix, std::uint64_t count,
                                std::uint64_t first_row, std::uint64_t row_step, std::uint64_t rows,
                                std::uint64_t columns) {
    constexpr std::uint64_t block = 32;
    if (columns % block != 0) {
      refuse_decoder(model_.path(),
                     "rows of " + std::to_string(columns) + " elements are not whole blocks of 32",
                     "metadata and tensors must be those of one model");
    }
    ExpertMatrices all;
    all.rows = rows;
    all.columns = columns;
    all.first_row = first_row;
    all.row_step = row_step;
    all.weights.push_back(
        check(prefix + "blocks", {count, row_step * rows, columns / block, block / 2}));
    all.scales = check(prefix + "scales", {count, row_step * rows, columns / block});
    for (const std::string& name : {all.weights.front(), all.scales}) {
      if (model_.find(name)->type.name() == "U8") continue;
      refuse_decoder(model_.path(), "tensor " + in_quotes(name) + " is not of type U8",
                     "use experts in MXFP4");
    }
    all.bias = check(prefix + "bias", {count, row_step * rows});
    return all;
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

void name_experts(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
                  const std::string& prefix, std::uint64_t width, DecoderLayer& layer) {
  ExpertsSpec& experts = layer.experts;
  const Bias bias = tensors.biases.experts;
  const bool is_packed = tensors.kind->has_packed_experts && !find.is_gguf();
  const std::string router = is_packed ? "mlp.router" : std::string(names.router);
  experts.router = find.product(prefix + router, experts.count, width, bias);
  if (is_packed) {
    const std::string both = prefix + "mlp.experts.gate_up_proj_";
    experts.gate = find.packed_experts(both, experts.count, 0, 2, layer.feed_forward, width);
    experts.up = find.packed_experts(both, experts.count, 1, 2, layer.feed_forward, width);
    experts.down = find.packed_experts(prefix + "mlp.experts.down_proj_", experts.count, 0, 1,
                                       width, layer.feed_forward);
    return;
  }
  const auto matrices = [&](std::string_view part, std::uint64_t rows, std::uint64_t columns) {
    return find.experts(prefix, names, part, experts.count, rows, columns, bias);
  };
  experts.gate = matrices(names.expert_gate, layer.feed_forward, width);
  experts.up = matrices(names.expert_up, layer.feed_forward, width);
  experts.down = matrices(names.expert_down, width, layer.feed_forward);
}

void name_layer(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
                const DecoderSpec& spec, std::size_t number, DecoderLayer& layer) {
  const std::string prefix = std::string(names.layer) + std::to_string(number) + ".";
  const auto name = [&](std::string_view part) { return prefix + std::string(part); };
  const std::uint64_t width = spec.embedding;
  layer.attention_norm = find.vector(name(names.attention_norm) + ".weight", width);
  const DecoderBiases& biases = tensors.biases;
  layer.q = find.product(name(names.q), layer.heads * spec.key_length, width, biases.qkv);
  layer.k = find.product(name(names.k), layer.kv_heads * spec.key_length, width, biases.qkv);
  layer.v = find.product(name(names.v), layer.kv_heads * spec.value_length, width, biases.qkv);
  if (tensors.kind->has_head_norms) {
    layer.q_norm = find.vector(name(names.q_norm) + ".weight", spec.key_length);
    layer.k_norm = find.vector(name(names.k_norm) + ".weight", spec.key_length);
  }
  layer.attention_output = find.product(name(names.attention_output), width,
                                        layer.heads * spec.value_length, biases.attention_output);
  const bool has_post_norms = tensors.kind->has_post_norms;
  if (has_post_norms) {
    layer.attention_post_norm = find.vector(name(names.attention_post_norm) + ".weight", width);
    layer.feed_forward_post_norm =
        find.vector(name(names.feed_forward_post_norm) + ".weight", width);
  }
  if (tensors.kind->has_sinks) {
    layer.sinks =
        find.vector(name(find.is_gguf() ? "attn_sinks.weight" : "self_attn.sinks"), layer.heads);
  }
  layer.feed_forward_norm =
      find.vector(name(find.is_gguf() ? tensors.kind->gguf_feed_forward_norm
                                      : tensors.kind->config_feed_forward_norm) +
                      ".weight",
                  width);
  if (layer.has_experts()) {
    name_experts(find, names, tensors, prefix, width, layer);
    return;
  }
  const Bias bias = biases.feed_forward;
  layer.gate = find.product(name(names.gate), layer.feed_forward, width, bias);
  layer.up = find.product(name(names.up), layer.feed_forward, width, bias);
  layer.down = find.product(name(names.down), width, layer.feed_forward, bias);
}

void name_divisors(TensorFinder& find, const DecoderTensors& tensors, RopeSpec& rope) {
  const std::uint64_t pairs = rope.dimensions / 2;
  if (rope.scaling == RopeScaling::longrope) {
    rope.divisors_tensor = find.vector("rope_factors_short.weight", pairs);
    rope.long_divisors_tensor = find.vector("rope_factors_long.weight", pairs);
  } else if (tensors.kind->has_divisors && find.has("rope_freqs.weight")) {
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
