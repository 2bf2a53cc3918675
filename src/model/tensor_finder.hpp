// SPDX-License-Identifier: MIT
/// How a decoder's tensors are found in a file, by the names of its format.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/decoder_reading.hpp"

namespace hiptool::model {

/// The names of tensors by their part in a decoder.
struct TensorNames {
  std::string_view embedding, output_norm, output, layer;
  std::string_view attention_norm, q, k, v, q_norm, k_norm, attention_output;
  std::string_view gate, up, down;
  std::string_view attention_post_norm, feed_forward_post_norm;
  std::string_view router, experts;  ///< `experts`: in front of the names of their matrices
  std::string_view expert_gate, expert_up, expert_down;
};

/// Looks tensors up, checks their shapes and remembers them.
class TensorFinder {
 public:
  TensorFinder(const ModelFile& model, const DecoderTensors& tensors)
      : model_(model),
        is_gguf_(model.format() == ModelFormat::gguf),
        is_part_(tensors.is_part),
        block_rows_(tensors.block_rows),
        block_columns_(tensors.block_columns) {}

  bool is_gguf() const { return is_gguf_; }
  bool has(const std::string& name) const { return model_.find(name_in_file(name)) != nullptr; }

  std::string vector(std::string name, std::uint64_t extent);

  std::string matrix(std::string name, std::uint64_t rows, std::uint64_t columns);

  MatrixSpec product(const std::string& name, std::uint64_t rows, std::uint64_t columns, Bias bias);

  /// A matrix of one row; a GGUF may have it as a vector.
  MatrixSpec row(const std::string& name, std::uint64_t columns);

  /// Some rows of a tensor that several matrices share.
  MatrixSpec part(const std::string& name, std::uint64_t first_row, std::uint64_t rows,
                  std::uint64_t tensor_rows, std::uint64_t columns);

  /// GGUF has one tensor of all experts, safetensors one of each.
  ExpertMatrices experts(const std::string& prefix, const TensorNames& names, std::string_view part,
                         std::uint64_t count, std::uint64_t rows, std::uint64_t columns, Bias bias);

  /// Rows from `first_row` on of each expert's `tensor_rows` in one tensor of all experts.
  ExpertMatrices joined_experts(const std::string& name, std::uint64_t count,
                                std::uint64_t first_row, std::uint64_t rows,
                                std::uint64_t tensor_rows, std::uint64_t columns);

  /// "PREFIXblocks", "PREFIXscales" and "PREFIXbias" of transformers' integrations/mxfp4.py.
  ExpertMatrices packed_experts(const std::string& prefix, std::uint64_t count,
                                std::uint64_t first_row, std::uint64_t row_step, std::uint64_t rows,
                                std::uint64_t columns);

  /// Of each channel by itself, as torch has it, or a GGUF.
  std::string convolution(const std::string& name, std::uint64_t channels, std::uint64_t taps);

  /// A matrix of each head, transposed, as a GGUF has it.
  MatrixSpec head_matrices(const std::string& name, std::uint64_t heads, std::uint64_t rows,
                           std::uint64_t columns);

  /// Layers behind the last one, which predict further tokens and change no logits.
  void leave_out_layers(std::string_view prefix, std::uint64_t first, std::uint64_t count);

  /// Tensors of such names, which change no logits.
  void leave_out(std::string prefix) { left_out_.push_back(std::move(prefix)); }

  /// A tensor without a place would change the results of a program that knows one.
  void refuse_others(const DecoderSpec& spec) const;

 private:
  /// The name of the scales of numbers in FP8 (DeepSeek V3's files); empty: it has none.
  std::string scales_of(const std::string& weight, std::uint64_t rows, std::uint64_t columns);
  void find_scales(MatrixSpec& product, std::uint64_t tensor_rows);

  // transformers' modeling_mistral3.py and modeling_gemma3.py, and its older names, which files
  // have: the decoder of a model with an encoder of images.
  std::string name_in_file(const std::string& name) const;

  static bool is_of_images(std::string_view name);

  std::string check(std::string name, const std::vector<std::uint64_t>& shape);

  // Values that follow from others: programs of the architecture do not read them.
  static bool is_known_copy(std::string_view name);

  const ModelFile& model_;
  bool is_gguf_;
  bool is_part_;
  std::uint64_t block_rows_;
  std::uint64_t block_columns_;
  std::unordered_set<std::string> used_;
  std::vector<std::string> left_out_;
};

}  // namespace hiptool::model
