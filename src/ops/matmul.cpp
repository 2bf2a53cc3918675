// SPDX-License-Identifier: MIT
#include "hiptool/matmul.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/matmul_launch.hpp"
#include "ops/operands.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

constexpr std::string_view matmul_name = "matmul";

/// Whether kernels can read or write the matrices of that tensor where they are.
bool is_matrix(const Tensor& tensor) {
  return has_neighbours(matrix_axis(tensor, 0)) || has_neighbours(matrix_axis(tensor, 1));
}

/// The dimensions of the result.
std::vector<std::uint64_t> product_dims(const Tensor& a, const Tensor& b) {
  const std::size_t rank = a.layout().rank();
  bool fits = rank >= 2 && rank == b.layout().rank() && a.dims()[rank - 1] == b.dims()[rank - 2];
  std::vector<std::uint64_t> dims(a.dims().begin(), a.dims().end());
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) {
    if (dims[i] == 1) dims[i] = b.dims()[i];
    fits = b.dims()[i] == 1 || b.dims()[i] == dims[i];
  }
  if (!fits) {
    refuse(matmul_name, describe(a) + " and " + describe(b) +
                            " do not fit; [batch.., m, k] times [batch.., k, n], batch dimensions "
                            "equal or 1");
  }
  dims[rank - 1] = b.dims()[rank - 1];
  return dims;
}

void require_copies(const MatmulOptions& options, const Tensor& tensor) {
  if (!options.no_copies) return;
  throw Error(ErrorCode::unsupported, std::string(matmul_name),
              std::string(matmul_name) + ": " + describe(tensor) + " with strides " +
                  list_of(tensor.layout().strides()) +
                  " needs a copy: none of its last two axes has stride 1");
}

}  // namespace

void matmul_into(const Backend& backend, const Tensor& a, const Tensor& b, const Tensor& out,
                 const MatmulOptions& options) {
  const std::array<const Tensor*, 3> tensors{&a, &b, &out};
  require_device(backend, matmul_name, tensors);
  require_real(matmul_name, a);
  require_same_dtype(matmul_name, a, b);
  require_output(matmul_name, std::span(tensors).first(2), out, a.dtype(), product_dims(a, b));
  require_separate(matmul_name, std::span(tensors).first(2), out);
  if (out.element_count() == 0) return;
  if (!is_matrix(out)) {
    require_copies(options, out);
    const Tensor whole = backend.empty(out.dtype(), out.dims());
    if (options.beta != 0) copy_into(backend, out, whole);
    matmul_into(backend, a, b, whole, options);
    copy_into(backend, whole, out);
    return;
  }
  const auto readable = [&](const Tensor& tensor) {
    if (tensor.element_count() == 0 || is_matrix(tensor)) return tensor;
    require_copies(options, tensor);
    return copy(backend, tensor);
  };
  // Copies live until the kernels are queued; the allocator keeps the order of the stream.
  const Tensor left = readable(a);
  const Tensor right = readable(b);
  launch_product(backend,
                 {MatrixOperand(left), MatrixOperand(right), MatrixOperand(out),
                  out.layout().rank() - 2, out.dtype()},
                 options, backend.state().has_matrix_units);
}

Tensor matmul(const Backend& backend, const Tensor& a, const Tensor& b,
              const MatmulOptions& options) {
  require_real(matmul_name, a);
  Tensor out = backend.empty(a.dtype(), product_dims(a, b));
  // A new tensor has no old values.
  MatmulOptions of_new = options;
  of_new.beta = 0;
  matmul_into(backend, a, b, out, of_new);
  return out;
}

}  // namespace hiptool::ops
