// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/faults.hpp"
#include "ops/operands.hpp"

namespace hiptool::ops {
namespace {

using Dims = std::vector<std::uint64_t>;

Dims dims_of(const Tensor& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

/// Ids with the dimensions of the elements that they choose, and the position of each.
struct Ids {
  const Tensor& tensor;
  Layout layout;
  Layout positions;
};

/// 1-D ids: the same for everything outside the axis.
Ids along_axis(std::string_view operation, const Tensor& ids, const Dims& dims, std::size_t axis) {
  if (ids.layout().rank() != 1) refuse(operation, "the ids " + describe(ids) + " are not 1-D");
  Dims strides(dims.size());
  strides[axis] = ids.layout().strides()[0];
  const Layout layout = Layout::strided(dims, strides);
  strides[axis] = 1;
  return {ids, layout, Layout::strided(dims, strides)};
}

Ids one_each(const Tensor& ids) { return {ids, ids.layout(), Layout(ids.dims())}; }

hiptool_ops::IdType id_type(std::string_view operation, const Tensor& ids) {
  switch (ids.dtype()) {
    case DType::u8: return hiptool_ops::IdType::u8;
    case DType::u32: return hiptool_ops::IdType::u32;
    case DType::i64: return hiptool_ops::IdType::i64;
    default:
      throw Error(ErrorCode::unsupported, std::string(operation),
                  std::string(operation) + ": ids are u8, u32 or i64, not " + describe(ids));
  }
}

/// Ids and elements that they choose are inside the tensor, along all other axes.
void require_inside(std::string_view operation, const Tensor& inner, const Tensor& outer,
                    std::size_t axis) {
  bool fits = inner.layout().rank() == outer.layout().rank();
  for (std::size_t i = 0; fits && i < inner.layout().rank(); ++i) {
    fits = i == axis || inner.dims()[i] <= outer.dims()[i];
  }
  if (fits) return;
  refuse(operation,
         describe(inner) + " exceeds " + describe(outer) + " outside axis " + std::to_string(axis));
}

Layout with_stride(std::span<const std::uint64_t> dims, const Layout& layout, std::size_t axis,
                   std::uint64_t stride) {
  Dims strides(layout.strides().begin(), layout.strides().end());
  strides[axis] = stride;
  return Layout::strided(dims, strides);
}

FaultLog::Operation faults_of(std::string_view operation, const Tensor& ids, const Tensor& chosen,
                              std::size_t axis) {
  return {ErrorCode::out_of_bounds,
          std::string(operation),
          "id",
          "is out of range: axis " + std::to_string(axis) + " of " + describe(chosen) + " has " +
              std::to_string(chosen.dims()[axis]) + " elements",
          describe(ids),
          dims_of(ids),
          ids.dtype() == DType::i64};
}

/// Whether runs along axis 0 of a tensor's operand are aligned pieces, wherever ids lead.
bool has_chosen_pieces(const Tensor& tensor, const hiptool_ops::Operands<4>& operands,
                       std::size_t operand, std::uint64_t chosen_stride) {
  const std::uint64_t size = element_size_bytes(tensor.dtype());
  const std::uint64_t bytes = operands.run * size;
  bool fits = operands.strides[operand][0] == 1 && chosen_stride * size % bytes == 0 &&
              reinterpret_cast<std::uintptr_t>(tensor.address()) % bytes == 0;
  for (std::size_t axis = 1; axis < operands.axes; ++axis) {
    fits = fits && operands.strides[operand][axis] * size % bytes == 0;
  }
  return fits;
}

void read_chosen(const Backend& backend, const char* operation, const Tensor& x, const Ids& ids,
                 std::size_t axis, Tensor& out) {
  const std::array<const Tensor*, 3> tensors{&x, &ids.tensor, &out};
  require_device(backend, operation, tensors);
  const auto type = id_type(operation, ids.tensor);
  require_output(operation, std::span(tensors).first(2), out, x.dtype(), ids.layout.dims());
  require_separate(operation, std::span(tensors).first(2), out);
  if (out.element_count() == 0) return;

  const std::uint64_t stride = x.layout().strides()[axis];
  const Layout source = with_stride(out.dims(), x.layout(), axis, 0);
  auto operands = make_operands<4>(
      std::array<const Layout*, 4>{&source, &ids.positions, &ids.layout, &out.layout()}, 3);
  const std::size_t size = element_size_bytes(x.dtype());
  const std::size_t run = std::min<std::size_t>(8, 16 / size);
  if (operands.strides[2][0] == 0 && operands.dims[0] % run == 0) {
    operands.run = static_cast<std::uint32_t>(run);
    if (has_chosen_pieces(x, operands, 0, stride)) operands.packed |= 1u << 0;
    if (has_chosen_pieces(out, operands, 3, 0)) operands.packed |= 1u << 3;
  }
  const Kernel kernel =
      state_of(backend).kernel("ops_index", "hiptool_gather_" + std::to_string(size));
  const auto recording =
      state_of(backend).faults.begin(backend, faults_of(operation, ids.tensor, x, axis));
  const hiptool_ops::ChosenAxis chosen{x.dims()[axis], stride, recording.faults, recording.owner,
                                       type};
  launch_elements(backend, kernel, operands.count, operands.run, operands, chosen, x.address(),
                  ids.tensor.address(), out.address());
}

bool is_small_float(DType dtype) {
  return is_floating_point(dtype) && element_size_bytes(dtype) < 4;
}

std::string write_kernel(DType dtype, bool adds) {
  const std::string size = std::to_string(element_size_bytes(dtype));
  if (!adds) return "hiptool_scatter_" + size;
  return "hiptool_scatter_add_" + (is_floating_point(dtype) ? std::string(to_string(dtype)) : size);
}

void write_chosen(const Backend& backend, const char* operation, bool adds, const Tensor& x,
                  const Ids& ids, const Tensor& source, std::size_t axis, Tensor& out) {
  const std::array<const Tensor*, 4> tensors{&x, &ids.tensor, &source, &out};
  require_device(backend, operation, tensors);
  require_same_dtype(operation, x, source);
  const auto type = id_type(operation, ids.tensor);
  require_output(operation, std::span(tensors).first(3), out, x.dtype(), x.dims());
  require_separate(operation, std::span(tensors).subspan(1, 2), out);
  copy_into(backend, out, x);
  if (source.element_count() == 0) return;

  std::optional<Tensor> sums;
  if (adds && is_small_float(x.dtype())) sums = backend.empty(DType::f32, x.dims());
  const Layout scratch = sums ? sums->layout() : out.layout();
  const std::uint64_t length = source.dims()[axis];
  Dims dims = dims_of(source);
  dims[axis] = 1;
  const std::array<Layout, 5> layouts{
      with_stride(dims, source.layout(), axis, 0), with_stride(dims, ids.positions, axis, 0),
      with_stride(dims, ids.layout, axis, 0), with_stride(dims, scratch, axis, 0),
      with_stride(dims, out.layout(), axis, 0)};
  const auto operands = make_operands<5>(
      std::array<const Layout*, 5>{&layouts[0], &layouts[1], &layouts[2], &layouts[3], &layouts[4]},
      4);
  const hiptool_ops::ScatterLoop loop{length, source.layout().strides()[axis],
                                      ids.layout.strides()[axis], ids.positions.strides()[axis],
                                      scratch.strides()[axis]};
  const Kernel kernel = state_of(backend).kernel("ops_index", write_kernel(x.dtype(), adds));
  const auto recording =
      state_of(backend).faults.begin(backend, faults_of(operation, ids.tensor, x, axis));
  const hiptool_ops::ChosenAxis chosen{x.dims()[axis], out.layout().strides()[axis],
                                       recording.faults, recording.owner, type};
  if (sums) {
    launch_elements(backend, kernel, operands.count, 1, operands, loop, chosen, source.address(),
                    ids.tensor.address(), sums->address(), out.address());
  } else {
    launch_elements(backend, kernel, operands.count, 1, operands, loop, chosen, source.address(),
                    ids.tensor.address(), out.address());
  }
}

/// Dimensions of a tensor with as many elements along the axis as there are ids.
Dims selected_dims(std::string_view operation, const Tensor& x, const Tensor& ids,
                   std::size_t axis) {
  require_axis(operation, x, axis);
  if (ids.layout().rank() != 1) refuse(operation, "the ids " + describe(ids) + " are not 1-D");
  Dims dims = dims_of(x);
  dims[axis] = ids.element_count();
  return dims;
}

void write_each(const Backend& backend, const char* operation, bool adds, const Tensor& x,
                const Tensor& ids, const Tensor& source, std::size_t axis, Tensor& out) {
  require_axis(operation, x, axis);
  require_same_dims(operation, ids, source);
  require_inside(operation, source, x, axis);
  write_chosen(backend, operation, adds, x, one_each(ids), source, axis, out);
}

}  // namespace

void index_select_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& ids,
                       std::size_t axis) {
  const Dims dims = selected_dims("index_select", x, ids, axis);
  read_chosen(backend, "index_select", x, along_axis("index_select", ids, dims, axis), axis, out);
}

Tensor index_select(const Backend& backend, const Tensor& x, const Tensor& ids, std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), selected_dims("index_select", x, ids, axis));
  index_select_into(backend, out, x, ids, axis);
  return out;
}

void gather_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& ids,
                 std::size_t axis) {
  require_axis("gather", x, axis);
  require_inside("gather", ids, x, axis);
  read_chosen(backend, "gather", x, one_each(ids), axis, out);
}

Tensor gather(const Backend& backend, const Tensor& x, const Tensor& ids, std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), ids.dims());
  gather_into(backend, out, x, ids, axis);
  return out;
}

void scatter_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& ids,
                  const Tensor& source, std::size_t axis) {
  write_each(backend, "scatter", false, x, ids, source, axis, out);
}

Tensor scatter(const Backend& backend, const Tensor& x, const Tensor& ids, const Tensor& source,
               std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  scatter_into(backend, out, x, ids, source, axis);
  return out;
}

void scatter_add_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& ids,
                      const Tensor& source, std::size_t axis) {
  write_each(backend, "scatter_add", true, x, ids, source, axis, out);
}

Tensor scatter_add(const Backend& backend, const Tensor& x, const Tensor& ids, const Tensor& source,
                   std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  scatter_add_into(backend, out, x, ids, source, axis);
  return out;
}

void index_add_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& ids,
                    const Tensor& source, std::size_t axis) {
  const Dims dims = selected_dims("index_add", x, ids, axis);
  if (!std::ranges::equal(dims, source.dims())) {
    refuse("index_add", "the source " + describe(source) + " must be " + list_of(dims) + " for " +
                            describe(x) + " and the ids " + describe(ids));
  }
  write_chosen(backend, "index_add", true, x, along_axis("index_add", ids, dims, axis), source,
               axis, out);
}

Tensor index_add(const Backend& backend, const Tensor& x, const Tensor& ids, const Tensor& source,
                 std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  index_add_into(backend, out, x, ids, source, axis);
  return out;
}

}  // namespace hiptool::ops
