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
constexpr std::string_view matmul_i32_name = "matmul_i32";

/// Whether kernels can read or write the matrices of that tensor where they are.
bool is_matrix(const Tensor& tensor) {
  return has_neighbours(matrix_axis(tensor, 0)) || has_neighbours(matrix_axis(tensor, 1));
}

/// The dimensions of the result.
std::vector<std::uint64_t> product_dims(std::string_view operation, const Tensor& a,
                                        const Tensor& b) {
  const std::size_t rank = a.layout().rank();
  bool fits = rank >= 2 && rank == b.layout().rank() && a.dims()[rank - 1] == b.dims()[rank - 2];
  std::vector<std::uint64_t> dims(a.dims().begin(), a.dims().end());
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) {
    if (dims[i] == 1) dims[i] = b.dims()[i];
    fits = b.dims()[i] == 1 || b.dims()[i] == dims[i];
  }
  if (!fits) {
    refuse(operation, describe(a) + " and " + describe(b) +
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

/// Whether a copy for matrix units saves more time than it takes: a product of halves that uses
/// each element often, and no copy of repeated matrices.
bool pays_to_align(const Tensor& tensor, std::uint64_t uses) {
  constexpr std::uint64_t many_uses = 128;
  if (element_size_bytes(tensor.dtype()) != 2 || uses < many_uses) return false;
  if (std::min(matrix_axis(tensor, 0).size, matrix_axis(tensor, 1).size) <= 8) return false;
  const auto strides = tensor.layout().strides();
  if (std::ranges::find(strides, 0u) != strides.end()) return false;
  return !has_unit_lines(tensor);
}

/// Rows begin at multiples of 16 bytes.
Tensor aligned_copy(const Backend& backend, const Tensor& tensor) {
  const std::uint64_t line = 16 / element_size_bytes(tensor.dtype());
  std::vector<std::uint64_t> dims(tensor.dims().begin(), tensor.dims().end());
  dims.back() = ceil_divide(dims.back(), line) * line;
  const Tensor whole = backend.empty(tensor.dtype(), dims);
  Tensor part = whole.with_layout(whole.layout().narrow(dims.size() - 1, 0, tensor.dims().back()));
  copy_into(backend, part, tensor);
  return part;
}

/// Where libraries read operands that our kernels read too; others are copied.
bool multiply_by_library(const Backend& backend, const Tensor& a, const Tensor& b, Tensor& out,
                         const MatmulOptions& options) {
  if (a.element_count() == 0 || b.element_count() == 0) return false;
  if (!state_of(backend).libraries.can_multiply(backend)) return false;
  const auto readable = [&](const Tensor& tensor) {
    if (is_matrix(tensor)) return tensor;
    require_copies(options, tensor);
    return copy(backend, tensor);
  };
  const Tensor left = readable(a);
  const Tensor right = readable(b);
  return state_of(backend).libraries.multiply(
      backend,
      {MatrixOperand(left), MatrixOperand(right), MatrixOperand(out), out.layout().rank() - 2,
       out.dtype()},
      options);
}

// ---- i8

Tensor exchanged(const Tensor& tensor) {
  const std::size_t rank = tensor.layout().rank();
  return tensor.with_layout(tensor.layout().transpose(rank - 2, rank - 1));
}

/// Whether rows, the last axis, are along k and begin at multiples of 4 bytes: what cuBLASLt needs.
/// cuBLAS needs the alignment only (NVIDIA's cuBLAS documentation, cublasGemmEx and
/// cublasLtMatmul).
bool has_i8_lines(const Tensor& tensor) {
  constexpr std::uint64_t line = 4;
  const MatrixOperand operand(tensor);
  const auto is_aligned = [](std::uint64_t number) { return number % line == 0; };
  return has_neighbours(operand.columns) &&
         (operand.rows.size == 1 || is_aligned(operand.rows.stride)) &&
         is_aligned(reinterpret_cast<std::uintptr_t>(operand.address)) &&
         std::ranges::all_of(operand.batch_strides, is_aligned);
}

/// The operand, or a copy that libraries read where each element is used often enough to pay.
Tensor for_library(const Backend& backend, const Tensor& tensor, std::uint64_t uses,
                   const MatmulI32Options& options) {
  constexpr std::uint64_t many_uses = 32;
  const bool can_copy = !options.no_copies && !backend.device().is_host_memory();
  if (!can_copy || uses < many_uses || has_i8_lines(tensor)) return tensor;
  return aligned_copy(backend, tensor);
}

/// False where there is no memory for copies that only a library needs: our kernels compute then.
template <class Multiply>
bool multiply_if_memory(const Multiply& multiply) {
  try {
    return multiply();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
}

/// Where no sum can leave 32 bits: no vendor states whether its sums then wrap.
bool multiply_i8_by_library(const Backend& backend, const Tensor& a, const Tensor& b, Tensor& out,
                            const MatmulI32Options& options) {
  constexpr std::uint64_t most_terms = (std::uint64_t{1} << 17) - 1;  // times 2^14
  if (matrix_axis(a, 0).size > most_terms) return false;
  if (!state_of(backend).libraries.can_multiply(backend)) return false;
  return multiply_if_memory([&] {
    const Tensor left = for_library(backend, a, matrix_axis(b, 0).size, options);
    const Tensor right =
        exchanged(for_library(backend, exchanged(b), matrix_axis(a, 1).size, options));
    return state_of(backend).libraries.multiply(
        backend,
        {MatrixOperand(left), MatrixOperand(right), MatrixOperand(out), out.layout().rank() - 2,
         DType::i8, DType::i32},
        {});
  });
}

void require_i8(const Tensor& tensor) {
  if (tensor.dtype() == DType::i8) return;
  throw Error(ErrorCode::unsupported, std::string(matmul_i32_name),
              std::string(matmul_i32_name) + ": " + describe(tensor) + "; it takes i8");
}

}  // namespace

void multiply_tensors(const Backend& backend, const Tensor& a, const Tensor& b, Tensor& out,
                      const MatmulOptions& options, MatrixUnits units) {
  const std::array<const Tensor*, 3> tensors{&a, &b, &out};
  require_device(backend, matmul_name, tensors);
  require_real(matmul_name, a);
  require_same_dtype(matmul_name, a, b);
  require_output(matmul_name, std::span(tensors).first(2), out, a.dtype(),
                 product_dims(matmul_name, a, b));
  require_separate(matmul_name, std::span(tensors).first(2), out);
  if (out.element_count() == 0) return;
  if (!is_matrix(out)) {
    require_copies(options, out);
    Tensor whole = backend.empty(out.dtype(), out.dims());
    if (options.beta != 0) copy_into(backend, whole, out);
    multiply_tensors(backend, a, b, whole, options, units);
    copy_into(backend, out, whole);
    return;
  }
  if (options.library == Library::automatic && !options.exact &&
      multiply_by_library(backend, a, b, out, options)) {
    return;
  }
  const bool wants_units = units != MatrixUnits::none && !options.exact;
  const auto readable = [&](const Tensor& tensor, std::uint64_t uses) {
    if (tensor.element_count() == 0) return tensor;
    if (wants_units && !options.no_copies && pays_to_align(tensor, uses)) {
      return aligned_copy(backend, tensor);
    }
    if (is_matrix(tensor)) return tensor;
    require_copies(options, tensor);
    return copy(backend, tensor);
  };
  // Copies live until the kernels are queued; the allocator keeps the order of the stream.
  const Tensor left = readable(a, matrix_axis(b, 0).size);
  const Tensor right = readable(b, matrix_axis(a, 1).size);
  launch_product(backend,
                 {MatrixOperand(left), MatrixOperand(right), MatrixOperand(out),
                  out.layout().rank() - 2, out.dtype()},
                 options, units);
}

void matmul_into(const Backend& backend, Tensor& out, const Tensor& a, const Tensor& b,
                 const MatmulOptions& options) {
  multiply_tensors(backend, a, b, out, options, state_of(backend).matrix_units);
}

Tensor matmul(const Backend& backend, const Tensor& a, const Tensor& b,
              const MatmulOptions& options) {
  require_real(matmul_name, a);
  Tensor out = backend.empty(a.dtype(), product_dims(matmul_name, a, b));
  // A new tensor has no old values.
  MatmulOptions of_new = options;
  of_new.beta = 0;
  matmul_into(backend, out, a, b, of_new);
  return out;
}

void matmul_i32_into(const Backend& backend, Tensor& out, const Tensor& a, const Tensor& b,
                     const MatmulI32Options& options) {
  const std::array<const Tensor*, 3> tensors{&a, &b, &out};
  require_device(backend, matmul_i32_name, tensors, Elements::stored);
  require_i8(a);
  require_i8(b);
  const auto inputs = std::span(tensors).first(2);
  require_output(matmul_i32_name, inputs, out, DType::i32, product_dims(matmul_i32_name, a, b));
  require_separate(matmul_i32_name, inputs, out);
  if (out.element_count() == 0) return;
  if (options.library == Library::automatic &&
      multiply_i8_by_library(backend, a, b, out, options)) {
    return;
  }
  launch_i32_product(backend, {MatrixOperand(a), MatrixOperand(b), MatrixOperand(out),
                               out.layout().rank() - 2, DType::i8, DType::i32});
}

Tensor matmul_i32(const Backend& backend, const Tensor& a, const Tensor& b,
                  const MatmulI32Options& options) {
  Tensor out = backend.empty(DType::i32, product_dims(matmul_i32_name, a, b));
  matmul_i32_into(backend, out, a, b, options);
  return out;
}

}  // namespace hiptool::ops
