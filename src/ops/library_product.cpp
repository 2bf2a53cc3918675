// SPDX-License-Identifier: MIT
#include "ops/library_product.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hiptool::ops {
namespace {

struct LibraryMatrix {
  bool is_transposed;
  std::uint64_t leading;  ///< distance of two lines
};

std::optional<LibraryMatrix> library_matrix(const MatrixOperand& operand) {
  const auto leading = [](MatrixAxis lines, MatrixAxis along) {
    return lines.size > 1 ? lines.stride : along.size;
  };
  if (has_neighbours(operand.columns)) {
    const std::uint64_t distance = leading(operand.rows, operand.columns);
    if (distance >= operand.columns.size) return LibraryMatrix{false, distance};
  }
  if (has_neighbours(operand.rows)) {
    const std::uint64_t distance = leading(operand.columns, operand.rows);
    if (distance >= operand.rows.size) return LibraryMatrix{true, distance};
  }
  return std::nullopt;
}

std::int64_t as_size(std::uint64_t number) { return static_cast<std::int64_t>(number); }

/// The batch axes in elements, joined where all operands run through two of them in one go.
std::vector<LibraryProduct::Axis> batch_axes_of(const MatrixProduct& product) {
  std::vector<LibraryProduct::Axis> axes;
  for (std::size_t i = 0; i < product.batch_axes; ++i) {
    const LibraryProduct::Axis inner{product.out.batch_dims[i], product.a.batch_strides[i],
                                     product.b.batch_strides[i], product.out.batch_strides[i]};
    if (inner.size == 1) continue;
    if (!axes.empty()) {
      LibraryProduct::Axis& outer = axes.back();
      if (outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
          outer.out == inner.out * inner.size) {
        outer = {outer.size * inner.size, inner.a, inner.b, inner.out};
        continue;
      }
    }
    axes.push_back(inner);
  }
  return axes;
}

template <class Pointer>
Pointer moved(Pointer pointer, std::uint64_t bytes) {
  using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, std::byte, const std::byte>;
  return static_cast<Byte*>(pointer) + bytes;
}

}  // namespace

hip::BlasType library_type(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64: return hip::BlasType::f64;
    case DType::f16: return hip::BlasType::f16;
    case DType::bf16: return hip::BlasType::bf16;
    case DType::i8: return hip::BlasType::i8;
    case DType::i32: return hip::BlasType::i32;
    default: return hip::BlasType::f32;
  }
}

hip::BlasCompute library_compute(DType dtype, bool allows_tf32) noexcept {
  if (dtype == DType::f64) return hip::BlasCompute::f64;
  if (dtype == DType::i8) return hip::BlasCompute::i32;
  const bool is_tf32 = dtype == DType::f32 && allows_tf32;
  return is_tf32 ? hip::BlasCompute::f32_fast_tf32 : hip::BlasCompute::f32;
}

std::uint64_t LibraryProduct::call_count() const noexcept {
  std::uint64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

hip::GemmCall LibraryProduct::call_at(std::uint64_t index) const noexcept {
  hip::GemmCall one = call;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::uint64_t at = index % axes[i].size;
    index /= axes[i].size;
    one.a = moved(one.a, at * axes[i].a);
    one.b = moved(one.b, at * axes[i].b);
    one.c = moved(one.c, at * axes[i].out);
  }
  return one;
}

std::optional<LibraryProduct> library_product(MatrixProduct product, const MatmulOptions& options) {
  auto out = library_matrix(product.out);
  if (out && out->is_transposed) {
    product.transpose();
    out = library_matrix(product.out);
  }
  const auto a = library_matrix(product.a);
  const auto b = library_matrix(product.b);
  if (!out || out->is_transposed || !a || !b) return std::nullopt;
  LibraryProduct made;
  hip::GemmCall& call = made.call;
  call.a_type = library_type(product.dtype);
  call.b_type = call.a_type;
  call.c_type = library_type(product.result_dtype);
  call.compute = library_compute(product.dtype, options.allows_tf32);
  call.transpose_a = a->is_transposed;
  call.transpose_b = b->is_transposed;
  call.m = as_size(product.a.rows.size);
  call.n = as_size(product.b.columns.size);
  call.k = as_size(product.a.columns.size);
  call.lda = as_size(a->leading);
  call.ldb = as_size(b->leading);
  call.ldc = as_size(out->leading);
  call.alpha = options.alpha;
  call.beta = options.beta;
  call.a = product.a.address;
  call.b = product.b.address;
  call.c = product.out.address;
  made.axes = batch_axes_of(product);
  if (!made.axes.empty()) {
    // The longest one in one call.
    const auto longest = std::ranges::max_element(made.axes, {}, &LibraryProduct::Axis::size);
    call.batch = as_size(longest->size);
    call.stride_a = as_size(longest->a);
    call.stride_b = as_size(longest->b);
    call.stride_c = as_size(longest->out);
    made.axes.erase(longest);
  }
  const std::uint64_t bytes = element_size_bytes(product.dtype);
  for (LibraryProduct::Axis& axis : made.axes) {
    axis.a *= bytes;
    axis.b *= bytes;
    axis.out *= element_size_bytes(product.result_dtype);
  }
  return made;
}

}  // namespace hiptool::ops
