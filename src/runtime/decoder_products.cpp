// SPDX-License-Identifier: MIT
#include "runtime/decoder_products.hpp"

#include <cstddef>

#include "hiptool/ops.hpp"
#include "ops/quantised.hpp"
#include "runtime/decoder_memory.hpp"

namespace hiptool::runtime {

std::vector<Tensor> products(const Backend& backend, const std::vector<ScratchProduct>& all,
                             const Tensor& inputs) {
  std::vector<Tensor> outs;
  for (const ScratchProduct& one : all) {
    outs.push_back(DecoderMemory::rows(one.scratch, inputs.dims()[0], one.matrix.weight.rows()));
  }
  std::vector<ops::WeightsProduct> multiplied;
  for (std::size_t i = 0; i < all.size(); ++i) {
    multiplied.push_back({&all[i].matrix.weight, &outs[i]});
  }
  ops::quantised_matmuls_into(backend, multiplied, inputs);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].matrix.bias) ops::row_bias_into(backend, outs[i], outs[i], *all[i].matrix.bias);
  }
  return outs;
}

Tensor product(const Backend& backend, const DeviceMatrix& matrix, const Tensor& inputs,
               const Tensor& scratch) {
  return products(backend, {{matrix, scratch}}, inputs).front();
}

}  // namespace hiptool::runtime
