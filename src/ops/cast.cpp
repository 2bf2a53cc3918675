// SPDX-License-Identifier: MIT
#include <array>

#include "hiptool/ops.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"

namespace hiptool::ops {
namespace {

/// The integer type of that size, whose conversion to itself copies bits.
DType bits_of_size(DType dtype) {
  switch (element_size_bytes(dtype)) {
    case 1: return DType::u8;
    case 2: return DType::i16;
    case 4: return DType::u32;
    default: return DType::i64;
  }
}

}  // namespace

void cast_into(const Backend& backend, Tensor& out, const Tensor& x) {
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, "cast", tensors);
  require_output("cast", std::span(tensors).first(1), out, out.dtype(), x.dims());
  const std::uint64_t count = out.element_count();
  if (count == 0) return;
  const bool is_copy = x.dtype() == out.dtype();
  const auto from = type_number(is_copy ? bits_of_size(x.dtype()) : x.dtype());
  const auto to = type_number(is_copy ? bits_of_size(x.dtype()) : out.dtype());
  constexpr std::uint32_t run = 4;  // cast_length
  if (are_packed(tensors)) {
    const bool is_wider = element_size_bytes(out.dtype()) > element_size_bytes(x.dtype());
    const Kernel kernel = state_of(backend).kernel(
        "ops_cast", is_wider ? "hiptool_cast_packed" : "hiptool_cast_packed_pairs");
    launch_elements(backend, kernel, count, is_wider ? run : 2 * run, from, to, count, x.address(),
                    out.address());
    return;
  }
  const Kernel kernel = state_of(backend).kernel("ops_cast", "hiptool_cast");
  const auto operands = make_operands<2>(tensors, run);
  launch_elements(backend, kernel, count, operands.run, from, to, operands, x.address(),
                  out.address());
}

Tensor cast(const Backend& backend, const Tensor& x, DType dtype) {
  Tensor out = backend.empty(dtype, x.dims());
  cast_into(backend, out, x);
  return out;
}

}  // namespace hiptool::ops
