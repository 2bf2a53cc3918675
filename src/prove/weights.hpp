// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::prove {

/// The weights of a model as doubles, read from its files when they are needed: memory holds some
/// rows of a matrix for each thread.
class Weights {
 public:
  /// Throws Error(input_failed) for files that changed since they were parsed.
  Weights(ModelFile model, std::uint32_t threads, const CancelToken* cancel);

  /// Throws Error(input_failed) for one that the model does not have.
  const TensorInfo& find(const std::string& tensor) const;
  /// Throws Error(input_failed) unless the tensor's elements are numbers and its rows whole blocks.
  void check(const std::string& tensor, std::uint64_t columns) const;

  std::vector<double> vector(const std::string& tensor) const;
  std::vector<double> row(const MatrixSpec& matrix, std::uint64_t row) const;
  /// W x + b for each of the inputs: tokens x columns to tokens x rows. `squares`: gets the sums of
  /// the squares of the terms; null: they are not computed.
  std::vector<double> product(const MatrixSpec& matrix, std::span<const double> inputs,
                              std::vector<double>* squares = nullptr) const;

  std::uint32_t threads() const noexcept { return threads_; }

 private:
  struct Rows;  // where the rows of a tensor are
  Rows rows_of(const std::string& tensor, std::uint64_t columns) const;

  ModelFile model_;
  std::vector<base::File> files_;
  std::uint32_t threads_;
  const CancelToken* cancel_;
};

}  // namespace hiptool::prove
