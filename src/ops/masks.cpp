// SPDX-License-Identifier: MIT
/// Masks of attention's scores and repeated heads, made of other operations.
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/operands.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

void require_two_axes(std::string_view operation, const Tensor& tensor) {
  if (tensor.layout().rank() >= 2) return;
  refuse(operation, describe(tensor) + " has less than two axes");
}

/// Numbers from `first` on along one of the last two axes, repeated along all others.
Tensor positions_along(const Backend& backend, const Tensor& scores, std::size_t axis,
                       std::int64_t first) {
  std::vector<std::int64_t> positions(scores.dims()[axis]);
  std::iota(positions.begin(), positions.end(), first);
  const std::array<std::uint64_t, 1> dims{positions.size()};
  const Tensor line =
      Tensor::from_host<std::int64_t>({backend.allocator(), backend.stream()}, positions, dims);
  std::vector<std::uint64_t> strides(scores.layout().rank(), 0);
  strides[axis] = 1;
  return line.with_layout(Layout::strided(scores.dims(), strides));
}

}  // namespace

Tensor causal_mask(const Backend& backend, const Tensor& scores, std::uint64_t first_position,
                   std::uint64_t window) {
  constexpr std::string_view name = "causal_mask";
  require_two_axes(name, scores);
  require_real(name, scores);
  const std::array<const Tensor*, 1> tensors{&scores};
  require_device(backend, name, tensors);
  const std::size_t tokens_axis = scores.layout().rank() - 2;
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (first_position > most || scores.dims()[tokens_axis] > most ||
      scores.dims()[tokens_axis + 1] > most) {
    refuse(name, "positions beyond 2^62");
  }
  // Before the host makes lists of that many positions: such a result may not fit.
  Tensor out = backend.empty(scores.dtype(), scores.dims());
  if (out.element_count() == 0) return out;
  const auto first = static_cast<std::int64_t>(first_position);
  const Tensor keys = positions_along(backend, scores, tokens_axis + 1, 0);
  Tensor hidden = gt(backend, keys, positions_along(backend, scores, tokens_axis, first));
  if (window != 0 && window <= most) {
    const auto before = first - static_cast<std::int64_t>(window);
    const Tensor last_hidden = positions_along(backend, scores, tokens_axis, before);
    hidden = maximum(backend, hidden, le(backend, keys, last_hidden));
  }
  const Tensor nothing =
      fill(backend, scores.dtype(), {1}, -std::numeric_limits<double>::infinity());
  const std::vector<std::uint64_t> no_strides(scores.layout().rank(), 0);
  where_cond_into(backend, out, hidden,
                  nothing.with_layout(Layout::strided(scores.dims(), no_strides)), scores);
  return out;
}

Tensor add_mask(const Backend& backend, const Tensor& scores, const Tensor& mask) {
  constexpr std::string_view name = "add_mask";
  require_two_axes(name, scores);
  require_same_dtype(name, scores, mask);
  try {
    return add(backend, scores, mask.with_layout(mask.layout().broadcast_to(scores.dims())));
  } catch (const Error& error) {
    throw error.with_context("add_mask: " + describe(mask) + " for scores " + describe(scores));
  }
}

Tensor repeat_heads(const Backend& backend, const Tensor& x, std::uint64_t count) {
  constexpr std::string_view name = "repeat_heads";
  require_two_axes(name, x);
  const std::size_t rank = x.layout().rank();
  if (rank == Layout::max_rank) refuse(name, describe(x) + " has too many axes");
  if (count == 0) refuse(name, "heads are repeated 0 times");
  std::vector<std::uint64_t> dims(x.dims().begin(), x.dims().end());
  std::vector<std::uint64_t> strides(x.layout().strides().begin(), x.layout().strides().end());
  const auto at = static_cast<std::ptrdiff_t>(rank - 1);
  dims.insert(dims.begin() + at, count);
  strides.insert(strides.begin() + at, 0);
  const Tensor repeated =
      copy(backend, x.with_layout(Layout::strided(dims, strides, x.layout().start_offset())));
  dims.erase(dims.begin() + at);
  dims[rank - 2] *= count;
  return repeated.with_layout(Layout(dims));
}

}  // namespace hiptool::ops
