// SPDX-License-Identifier: MIT
/// Products of a decoder's matrices in its scratch memory.
#pragma once
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

struct ScratchProduct {
  const DeviceMatrix& matrix;
  const Tensor& scratch;
};

/// W x + b of up to three matrices with the same inputs, each in its scratch memory: in one launch
/// where the inputs are one token and the matrices of one type.
std::vector<Tensor> products(const Backend& backend, const std::vector<ScratchProduct>& all,
                             const Tensor& inputs);

/// The same of one matrix.
Tensor product(const Backend& backend, const DeviceMatrix& matrix, const Tensor& inputs,
               const Tensor& scratch);

/// The activation of a multilayer perceptron, in place of `gate`.
void apply_gate(const Backend& backend, const DecoderSpec& spec, Tensor& gate, const Tensor& up);

}  // namespace hiptool::runtime
