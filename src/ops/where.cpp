// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>

#include "hiptool/ops.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"
#include "ops/scalar.hpp"

namespace hiptool::ops {
namespace {

constexpr std::array condition_dtypes{DType::u8, DType::u32, DType::i64};

/// hiptool_ops::Run of words of that size.
std::uint32_t words_of(std::size_t size_bytes) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(8, 16 / size_bytes));
}

}  // namespace

void where_cond_into(const Backend& backend, Tensor& out, const Tensor& condition,
                     const Tensor& on_true, const Tensor& on_false) {
  const std::array<const Tensor*, 4> tensors{&condition, &on_true, &on_false, &out};
  require_device(backend, "where", tensors);
  require_dtype("where", condition, condition_dtypes);
  require_same_dtype("where", on_true, on_false);
  require_same_dims("where", condition, on_true);
  require_same_dims("where", on_true, on_false);
  require_output("where", std::span(tensors).first(3), out, on_true.dtype(), on_true.dims());
  const std::uint64_t count = out.element_count();
  if (count == 0) return;
  const std::size_t size = element_size_bytes(out.dtype());
  const std::uint32_t run = words_of(size);
  const auto condition_bytes = static_cast<std::uint32_t>(element_size_bytes(condition.dtype()));
  if (are_packed(tensors)) {
    const Kernel kernel =
        state_of(backend).kernel("ops_where", "hiptool_where_packed_" + std::to_string(size));
    launch_elements(backend, kernel, count, run, condition_bytes, count, condition.address(),
                    on_true.address(), on_false.address(), out.address());
    return;
  }
  const Kernel kernel =
      state_of(backend).kernel("ops_where", "hiptool_where_" + std::to_string(size));
  const auto operands = make_operands<4>(tensors, run);
  launch_elements(backend, kernel, count, operands.run, condition_bytes, operands,
                  condition.address(), on_true.address(), on_false.address(), out.address());
}

Tensor where_cond(const Backend& backend, const Tensor& condition, const Tensor& on_true,
                  const Tensor& on_false) {
  Tensor out = backend.empty(on_true.dtype(), on_true.dims());
  where_cond_into(backend, out, condition, on_true, on_false);
  return out;
}

void fill_into(const Backend& backend, Tensor& out, Scalar value) {
  const std::array<const Tensor*, 1> tensors{&out};
  require_device(backend, "fill", tensors);
  require_output("fill", {}, out, out.dtype(), out.dims());
  const std::uint64_t count = out.element_count();
  if (count == 0) return;
  const std::size_t size = element_size_bytes(out.dtype());
  const std::uint32_t run = words_of(size);
  const std::uint64_t bits = bits_in(value, out.dtype());
  if (are_packed(tensors)) {
    const Kernel kernel =
        state_of(backend).kernel("ops_where", "hiptool_fill_packed_" + std::to_string(size));
    launch_elements(backend, kernel, count, run, count, bits, out.address());
    return;
  }
  const Kernel kernel =
      state_of(backend).kernel("ops_where", "hiptool_fill_" + std::to_string(size));
  const auto operands = make_operands<1>(tensors, run);
  launch_elements(backend, kernel, count, operands.run, operands, bits, out.address());
}

Tensor fill(const Backend& backend, DType dtype, std::span<const std::uint64_t> dims,
            Scalar value) {
  Tensor out = backend.empty(dtype, dims);
  fill_into(backend, out, value);
  return out;
}

Tensor fill(const Backend& backend, DType dtype, std::initializer_list<std::uint64_t> dims,
            Scalar value) {
  return fill(backend, dtype, std::span(dims.begin(), dims.size()), value);
}

}  // namespace hiptool::ops
