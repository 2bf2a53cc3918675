// SPDX-License-Identifier: MIT
/// Products of a decoder's matrices in its scratch memory.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "ops/quantised.hpp"
#include "runtime/decoder_part.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// Reports an intermediate result as soon as it is queued.
using SayStage = std::function<void(const char* name, const Tensor& values)>;

struct ScratchProduct {
  const DeviceMatrix& matrix;
  const Tensor& scratch;
};

/// x with an RMS norm in front of products, which compute it themselves where they can.
ops::ProductInput input_of(const DecoderPart& part, const DecoderSpec& spec, const Tensor& x,
                           const Tensor& norm);

/// What products read: after the norm in front of them, in its memory.
Tensor normed_input(const Backend& backend, const ops::ProductInput& input);

/// W x + b of up to three matrices with the same inputs, each in its scratch memory: in one launch
/// where the inputs are one token and the matrices of one type.
std::vector<Tensor> products(const Backend& backend, const std::vector<ScratchProduct>& all,
                             const ops::ProductInput& input);

/// The same of one matrix.
Tensor product(const Backend& backend, const DeviceMatrix& matrix, const ops::ProductInput& input,
               const Tensor& scratch);

/// The activation of a multilayer perceptron, in place of `gate`.
void apply_gate(const Backend& backend, const DecoderSpec& spec, Tensor& gate, const Tensor& up);

/// Gate and activation of a multilayer perceptron, in one launch for one token where the gate has a
/// kernel for it: nothing for other gates and for matrices with biases. The products are in no
/// memory then.
std::optional<Tensor> gated_products(const Backend& backend, const DecoderSpec& spec,
                                     const MlpWeights& own, const DecoderMemory& memory,
                                     const ops::ProductInput& input);

/// The experts of tokens and their weights, by scores of the router.
void route(const Backend& backend, ops::ExpertRouting& routing, const Tensor& scores,
           const ExpertWeights& own, const ExpertsSpec& experts);

/// Adds what each token's shared MLP computes of the inputs, whose memory holds its result then.
void add_shared(const DecoderPart& part, const DecoderSpec& spec, const ExpertWeights& experts,
                const Tensor& inputs, Tensor& sum, const SayStage& say);

}  // namespace hiptool::runtime
