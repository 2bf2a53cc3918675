// SPDX-License-Identifier: MIT
/// The tensors of a decoder that is written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model_writer/decoder_plan.hpp"

namespace hiptool::model_writer {

constexpr std::string_view scaled_type = "F8_E4M3";

/// Adds tensors in the order of the model.
class DecoderTensorList {
 public:
  DecoderTensorList(const ModelWriterOptions& options, const std::vector<PlannedType>& types,
                    std::vector<PlannedTensor>& tensors)
      : options_(options), types_(types), tensors_(tensors) {}

  /// The type of the next matrix: the types of the options in turn.
  const PlannedType& next_type() { return types_[matrices_++ % types_.size()]; }
  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    matrix_of(next_type(), name, rows, columns);
  }
  void matrix_of(const PlannedType& type, const std::string& name, std::uint64_t rows,
                 std::uint64_t columns);
  /// One that no file has in FP8.
  void plain_matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns);
  /// One tensor for all experts.
  void experts(const std::string& name, std::uint64_t count, std::uint64_t rows,
               std::uint64_t columns);
  /// Codes and exponents of MXFP4, as Hugging Face has them.
  void packed(const std::string& name, std::uint64_t count, std::uint64_t rows,
              std::uint64_t columns);
  /// In a GGUF F32, as converters write it.
  void convolution(const std::string& name, std::uint64_t channels, std::uint64_t taps);
  void expert_bias(const std::string& name, std::vector<std::uint64_t> shape);
  void vector(const std::string& name, std::uint64_t count, int magnitude, bool is_positive);
  void embedding(const std::string& name, std::uint64_t rows, std::uint64_t columns);
  /// The only row of a matrix; in a GGUF an F32 vector, as converters write it.
  void row(const std::string& name, std::uint64_t columns);
  /// Elements from -1 to -0.5.
  void negative_vector(const std::string& name, std::uint64_t count);
  /// Elements from 1 to 2.
  void norm(const std::string& name, std::uint64_t count) { add_vector(name, count, 0, true); }
  /// Elements of +-0.25 to 0.5.
  void bias(const std::string& name, std::uint64_t count) { add_vector(name, count, -2, false); }

 private:
  static int magnitude_of(std::uint64_t columns);

  bool is_gguf() const { return options_.format == ModelFormat::gguf; }
  bool is_scaled(const PlannedType& type) const { return !is_gguf() && type.name == scaled_type; }

  void add_plain(const std::string& name, std::uint64_t rows, std::uint64_t columns, int magnitude);

  void add_matrix(const PlannedType& type, const std::string& name, std::uint64_t rows,
                  std::uint64_t columns, int magnitude);

  void add_vector(const std::string& name, std::uint64_t count, int magnitude, bool is_positive);

  PlannedTensor& add(const std::string& name, std::string_view type, std::uint64_t block_bytes,
                     int magnitude, bool is_positive);

  const ModelWriterOptions& options_;
  const std::vector<PlannedType>& types_;
  std::vector<PlannedTensor>& tensors_;
  std::size_t matrices_ = 0;
};

}  // namespace hiptool::model_writer
