// SPDX-License-Identifier: MIT
#include "ops/layers.hpp"

#include <bit>
#include <string>

#include "hiptool/ops_move.hpp"

namespace hiptool::ops {

void require_activations(std::string_view operation, const Tensor& x, std::size_t rank) {
  if (x.dtype() == DType::f32 && x.layout().rank() == rank) return;
  refuse(operation, describe(x) + " is not f32 of rank " + std::to_string(rank));
}

Tensor with_neighbours(const Backend& backend, const Tensor& x) {
  const std::size_t last = x.layout().rank() - 1;
  const bool fits = x.layout().strides()[last] == 1 || x.dims()[last] <= 1;
  return fits ? x : copy(backend, x);
}

bool has_whole_pieces(const Tensor& x) {
  constexpr std::uint64_t piece = 4;
  const std::size_t last = x.layout().rank() - 1;
  if (x.dims()[last] % piece != 0) return false;
  if (std::bit_cast<std::uintptr_t>(x.address()) % 16 != 0) return false;
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (x.layout().strides()[axis] % piece != 0) return false;
  }
  return true;
}

}  // namespace hiptool::ops
