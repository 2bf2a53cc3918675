// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::reference {

/// The weights of a model as doubles, read from its files when they are needed: memory holds some
/// rows of a matrix for each thread.
class Weights {
 public:
  /// Throws Error(input_failed) for files that changed since they were parsed.
  Weights(ModelFile model, std::uint32_t threads, const CancelToken* cancel);
  ~Weights();

  /// Throws Error(input_failed) for one that the model does not have.
  const TensorInfo& find(const std::string& tensor) const;
  /// Throws Error(input_failed) unless the tensor's elements are numbers and its rows whole blocks.
  void check(const std::string& tensor, std::uint64_t columns) const;

  // Each throws Error(corrupt_data), naming the tensor, for a value that is not a finite number,
  // and Error(input_failed) where the files give other bytes than an earlier call got.

  std::vector<double> vector(const std::string& tensor) const;
  std::vector<double> row(const MatrixSpec& matrix, std::uint64_t row) const;
  /// W x + b for each of the inputs: tokens x columns to tokens x rows. `squares`: gets the sums of
  /// the squares of the terms, for the first `squared` of the inputs; null: they are not computed.
  std::vector<double> product(const MatrixSpec& matrix, std::span<const double> inputs,
                              std::vector<double>* squares = nullptr,
                              std::size_t squared = std::numeric_limits<std::size_t>::max()) const;

  /// The same where each slot has the matrix of its expert: slots x columns, or fewer inputs of
  /// which each serves as many slots, to slots x rows. Only matrices of these experts are read.
  std::vector<double> expert_product(const ExpertMatrices& matrices, std::uint64_t experts,
                                     std::span<const std::uint32_t> ids,
                                     std::span<const double> inputs,
                                     std::vector<double>* squares = nullptr) const;

  /// The product with matrices of heads that the file has transposed, heads x inputs x columns:
  /// tokens x inputs to tokens x heads x columns.
  std::vector<double> transposed_product(const MatrixSpec& matrix, std::size_t heads,
                                         std::span<const double> inputs,
                                         std::vector<double>* squares = nullptr) const;

  /// Reads everything again that was read so far, and compares it with the bytes that were used
  /// then. `digests`, unless empty: those of VerifyResult::tensor_digests, which the tensors that
  /// were used must have. May be called by several threads at a time. Throws Error(input_failed)
  /// for a file that changed or was read wrong.
  void require_unchanged(std::span<const std::uint64_t> digests) const;

  std::uint32_t threads() const noexcept { return threads_; }

 private:
  struct Rows;  // where the rows of a tensor are
  class Seen;   // digests of the bytes that were read
  Rows rows_of(const std::string& tensor, std::uint64_t columns) const;
  Rows packed_rows_of(const ExpertMatrices& matrices) const;
  void give_scales(Rows& rows, const std::string& scales, std::uint64_t block_rows,
                   std::uint64_t block_columns) const;
  void add_product(const Rows& rows, std::size_t height, std::span<const double> inputs,
                   std::span<double> outputs, std::vector<double>* squares,
                   std::size_t squared) const;
  std::uint64_t rows_at_a_time(std::uint64_t rows, std::uint64_t row_bytes) const;
  void require_finite(const std::string& tensor, const std::vector<double>& values,
                      std::uint64_t first) const;
  // Of a piece of some rows.
  void require_finite(const Rows& rows, const std::vector<double>& piece, std::uint64_t row,
                      std::uint64_t column) const;

  ModelFile model_;
  std::vector<base::File> files_;
  std::unique_ptr<Seen> seen_;
  std::uint32_t threads_;
  const CancelToken* cancel_;
};

}  // namespace hiptool::reference
