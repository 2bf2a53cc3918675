// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/tensor.hpp"

/// Mixtures of experts, on the exact path of hiptool/ops_model.hpp, whose rules hold here as well;
/// kernels/ops/experts.hip states the order of sums. A slot is one expert of one token; the slots
/// of a token follow each other, in the order in which route_experts() gives them.
namespace hiptool::ops {

/// Matrices of the same shape in device memory, one for each expert, of any types that
/// QuantisedTensor takes. Copying it shares the memory.
class HIPTOOL_API ExpertTensors {
 public:
  /// One matrix for each expert, or one with the rows of all, [experts x rows, columns]. Copies a
  /// table to the device and waits for it. Throws Error(invalid_argument) where they have different
  /// shapes or another device than the Backend, without experts and for more than 1024.
  ExpertTensors(const Backend& backend, std::vector<QuantisedTensor> matrices,
                std::uint64_t experts);

  /// Hugging Face's MXFP4 (transformers' integrations/mxfp4.py), contiguous from a multiple of 16
  /// bytes on: codes of experts x row_step x rows x columns / 2 bytes and an exponent for each 16
  /// of them. Row r of an expert is row first_row + row_step r. Besides, throws
  /// Error(out_of_bounds) for buffers that are shorter.
  struct Packed {
    Buffer codes;
    Buffer exponents;
    std::uint64_t experts = 0, rows = 0, columns = 0, first_row = 0, row_step = 1;
  };
  ExpertTensors(const Backend& backend, const Packed& packed);

  [[nodiscard]] std::uint64_t experts() const noexcept { return experts_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return columns_; }
  /// Empty of packed ones.
  [[nodiscard]] const std::vector<QuantisedTensor>& matrices() const noexcept { return matrices_; }
  /// What the kernels read.
  [[nodiscard]] const Buffer& table() const noexcept { return table_; }

 private:
  std::vector<QuantisedTensor> matrices_;
  std::uint64_t experts_;
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
  std::vector<Buffer> packed_;
  Buffer table_;
};

/// Experts of tokens.
struct ExpertRouting {
  Tensor ids;      ///< u32 [tokens, used]
  Tensor weights;  ///< f32 [tokens, used]
};

/// The experts with the highest scores f32 [tokens, experts], highest first, of equal ones the one
/// with the lower number; NaN is the highest. Weights are the softmax of the scores, over the
/// used experts where it is normalised, otherwise over all; the softmax over all divided by the sum
/// of the used is the same. With s the sum of terms, r a weight, d the distance from the highest
/// score and n the number of terms, a weight is within r (2 d + n + 16) u + the least number of
/// f32. Throws Error(invalid_argument) for other shapes, dtypes and devices, and for more than 1024
/// experts.
HIPTOOL_API void route_experts_into(const Backend& backend, ExpertRouting& out,
                                    const Tensor& scores, bool is_normalised);
[[nodiscard]] HIPTOOL_API ExpertRouting route_experts(const Backend& backend, const Tensor& scores,
                                                      std::uint64_t used, bool is_normalised);

/// The bias f32 [experts, all rows] of matrices, whose row r has element first_row + row_step r.
struct ExpertBias {
  Tensor values;
  std::uint64_t first_row = 0;
  std::uint64_t row_step = 1;
};

/// For each slot the matrix of its expert times a vector, plus that expert's bias where there is
/// one: f32 [tokens x used, rows]. Ids are u32 [tokens, used], x is f32
/// [tokens, columns] or [tokens x used, columns]. The bits of quantised_matmul. A slot whose id is
/// not below the number of experts keeps what the output has. Throws Error(invalid_argument) for
/// other shapes, dtypes and devices, and for an output that overlaps x or the ids.
HIPTOOL_API void expert_matmul_into(const Backend& backend, Tensor& out,
                                    const ExpertTensors& weights, const Tensor& ids,
                                    const Tensor& x, const ExpertBias* bias = nullptr);
[[nodiscard]] HIPTOOL_API Tensor expert_matmul(const Backend& backend, const ExpertTensors& weights,
                                               const Tensor& ids, const Tensor& x,
                                               const ExpertBias* bias = nullptr);

/// gate sigmoid(slope gate) (up + 1) with the gates at most the limit and `up` within +-limit, of
/// contiguous f32 tensors of the same dimensions: DecoderSpec's GateKind::clamped_silu. NaN stays.
/// The output may be an input. Throws Error(invalid_argument) for others, and for a limit or a
/// slope that is not finite and above 0.
HIPTOOL_API void clamped_gate_into(const Backend& backend, Tensor& out, const Tensor& gates,
                                   const Tensor& up, double limit, double slope);
[[nodiscard]] HIPTOOL_API Tensor clamped_gate(const Backend& backend, const Tensor& gates,
                                              const Tensor& up, double limit, double slope);

/// The sum of each token's slots f32 [tokens x used, columns] by its weights f32 [tokens, used]:
/// f32 [tokens, columns]. Throws Error(invalid_argument) for other shapes, dtypes and devices, and
/// for an output that overlaps an input.
HIPTOOL_API void add_experts_into(const Backend& backend, Tensor& out, const Tensor& slots,
                                  const Tensor& weights);
[[nodiscard]] HIPTOOL_API Tensor add_experts(const Backend& backend, const Tensor& slots,
                                             const Tensor& weights);

}  // namespace hiptool::ops
