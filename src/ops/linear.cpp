// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <vector>

#include "hiptool/matmul.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/operands.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

constexpr std::string_view mlp_name = "mlp_swiglu";

void require_mlp_weights(const char* operand, const Tensor& x, const Tensor& weights,
                         std::uint64_t rows, std::uint64_t columns) {
  require_same_dtype(mlp_name, x, weights);
  const std::array<std::uint64_t, 2> dims{rows, columns};
  if (std::ranges::equal(weights.dims(), dims)) return;
  refuse(mlp_name, std::string(operand) + " is " + describe(weights) + " and should be " +
                       list_of(dims) + " for x of " + describe(x));
}

/// A matrix for each of the batches of x.
Tensor for_batches(const Tensor& weights, const Tensor& x) {
  std::vector<std::uint64_t> dims(x.layout().rank(), 1);
  std::vector<std::uint64_t> strides(dims.size(), 0);
  for (std::size_t i = 0; i < 2; ++i) {
    dims[dims.size() - 2 + i] = weights.dims()[i];
    strides[dims.size() - 2 + i] = weights.layout().strides()[i];
  }
  return weights.with_layout(Layout::strided(dims, strides, weights.layout().start_offset()));
}

}  // namespace

void axpy_into(const Backend& backend, Tensor& out, Scalar alpha, const Tensor& x,
               const Tensor& y) {
  require_same_dtype("axpy", x, y);
  require_same_dims("axpy", x, y);
  const std::array<const Tensor*, 2> inputs{&x, &y};
  require_output("axpy", inputs, out, x.dtype(), x.dims());
  add_into(backend, out, affine(backend, x, alpha, -0.0), y);
}

Tensor axpy(const Backend& backend, Scalar alpha, const Tensor& x, const Tensor& y) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  axpy_into(backend, out, alpha, x, y);
  return out;
}

void scal(const Backend& backend, Tensor& x, Scalar alpha) {
  affine_into(backend, x, x, alpha, -0.0);
}

void mlp_swiglu_into(const Backend& backend, Tensor& out, const Tensor& x,
                     const Tensor& gate_weights, const Tensor& up_weights,
                     const Tensor& down_weights, const MatmulOptions& options) {
  if (x.layout().rank() < 2) refuse(mlp_name, "x is " + describe(x) + " and should have rank 2");
  require_real(mlp_name, x);
  for (const auto& [operand, weights] :
       {std::pair{"the gate", &gate_weights}, std::pair{"down", &down_weights}}) {
    if (weights->layout().rank() == 2) continue;
    refuse(mlp_name,
           std::string(operand) + " is " + describe(*weights) + " and should have rank 2");
  }
  const std::uint64_t width = x.dims().back();
  const std::uint64_t hidden = gate_weights.dims()[1];
  require_mlp_weights("the gate", x, gate_weights, width, hidden);
  require_mlp_weights("up", x, up_weights, width, hidden);
  require_mlp_weights("down", x, down_weights, hidden, down_weights.dims()[1]);
  MatmulOptions plain = options;
  plain.alpha = 1;
  Tensor gates = matmul(backend, x, for_batches(gate_weights, x), plain);
  const Tensor up = matmul(backend, x, for_batches(up_weights, x), plain);
  gate_into(backend, gates, Gate::silu, gates, up);
  matmul_into(backend, out, gates, for_batches(down_weights, x), options);
}

Tensor mlp_swiglu(const Backend& backend, const Tensor& x, const Tensor& gate_weights,
                  const Tensor& up_weights, const Tensor& down_weights,
                  const MatmulOptions& options) {
  if (x.layout().rank() < 2) refuse(mlp_name, "x is " + describe(x) + " and should have rank 2");
  std::vector<std::uint64_t> dims(x.dims().begin(), x.dims().end());
  if (down_weights.layout().rank() == 2) dims.back() = down_weights.dims()[1];
  Tensor out = backend.empty(x.dtype(), dims);
  MatmulOptions of_new = options;
  of_new.beta = 0;
  mlp_swiglu_into(backend, out, x, gate_weights, up_weights, down_weights, of_new);
  return out;
}

}  // namespace hiptool::ops
