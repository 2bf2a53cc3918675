// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "hiptool/ops_move.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/move.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

/// A tensor of rank 2 with the same elements.
struct RowsOfTensor {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
};

RowsOfTensor rows_of(std::span<const std::uint64_t> dims) {
  RowsOfTensor shape;
  for (std::size_t axis = 0; axis + 1 < dims.size(); ++axis) shape.rows *= dims[axis];
  if (!dims.empty()) shape.columns = dims.back();
  return shape;
}

/// Rows that lie apart in the source, and one after the other in the output.
OperationCase rows_out_of(DType dtype, const RowsOfTensor& shape, InputMaker& maker) {
  ops::Rows rows{shape.rows, shape.columns};
  rows.source_stride = shape.columns + 16;
  rows.destination_stride = shape.columns;
  rows.source_offset = 8;
  OperationCase made;
  made.variant = "rows out of wider ones";
  made.inputs.push_back(maker.canonical_numbers(dtype, Dims{shape.rows, rows.source_stride}));
  made.result_dtype = dtype;
  made.result_dims = {shape.rows, shape.columns};
  made.run = [rows](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
    ops::copy_2d(backend, out, in[0], rows);
  };
  made.reference = [rows](std::span<const Values> in) -> Expected {
    const Values empty{{rows.rows, rows.columns},
                       std::vector<long double>(rows.rows * rows.columns)};
    return {
        reference::copy_2d(in[0], empty, rows.rows, rows.columns, rows.source_stride,
                           rows.destination_stride, rows.source_offset, rows.destination_offset),
        {}};
  };
  return made;
}

/// Rows that lie apart in the output, which has other elements between them.
OperationCase rows_into(DType dtype, const RowsOfTensor& shape, InputMaker& maker) {
  ops::Rows rows{shape.rows, shape.columns};
  rows.source_stride = shape.columns;
  rows.destination_stride = shape.columns + 3;
  rows.destination_offset = 1;
  const Dims wide{shape.rows, rows.destination_stride};
  OperationCase made;
  made.variant = "rows into wider ones";
  made.inputs.push_back(maker.canonical_numbers(dtype, Dims{shape.rows, shape.columns}));
  made.inputs.push_back(maker.canonical_numbers(dtype, wide));
  made.result_dtype = dtype;
  made.result_dims = wide;
  made.in_place = 1;
  made.run = [rows](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
    if (in[1].address() != out.address()) ops::copy_into(backend, out, in[1]);
    ops::copy_2d(backend, out, in[0], rows);
  };
  made.reference = [rows](std::span<const Values> in) -> Expected {
    return {
        reference::copy_2d(in[0], in[1], rows.rows, rows.columns, rows.source_stride,
                           rows.destination_stride, rows.source_offset, rows.destination_offset),
        {}};
  };
  return made;
}

OperationCase concat_case(DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker,
                          std::size_t axis, std::span<const std::uint64_t> lengths) {
  OperationCase made;
  made.variant = std::to_string(lengths.size()) + " along axis " + std::to_string(axis);
  made.result_dtype = dtype;
  made.result_dims.assign(dims.begin(), dims.end());
  made.result_dims[axis] = 0;
  for (const std::uint64_t length : lengths) {
    Dims part(dims.begin(), dims.end());
    part[axis] = length;
    made.result_dims[axis] += length;
    made.inputs.push_back(maker.canonical_numbers(dtype, part));
  }
  made.run = [axis](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
    ops::concat_into(backend, out, in, axis);
  };
  made.reference = [axis](std::span<const Values> in) -> Expected {
    return {reference::concat(in, axis), {}};
  };
  return made;
}

OperationEntry moving(const char* name, const char* description, std::uint64_t arrays) {
  OperationEntry entry{name, "movement", description, {}, arrays, false};
  entry.dtypes.assign(dtypes.begin(), dtypes.end());
  return entry;
}

Values transposed_values(const Values& x) {
  Values turned{x.dims, {}};
  std::swap(turned.dims[0], turned.dims[1]);
  turned.at.reserve(x.at.size());
  for (std::uint64_t column = 0; column < x.dims[1]; ++column) {
    for (std::uint64_t row = 0; row < x.dims[0]; ++row) {
      turned.at.push_back(x.at[row * x.dims[1] + column]);
    }
  }
  return turned;
}

/// The copy of a transposed view.
OperationEntry transposing() {
  OperationEntry entry = moving("transpose", "rows become columns", 2);
  entry.repeats = Repeats::anywhere;
  entry.usual_dtypes = {DType::u32};
  entry.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    if (dims.size() != 2) return std::vector<OperationCase>{};
    OperationCase made;
    made.inputs.push_back(maker.canonical_numbers(dtype, dims));
    made.result_dtype = dtype;
    made.result_dims = {dims[1], dims[0]};
    made.run = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::copy_into(backend, out, in[0].with_layout(in[0].layout().transpose(0, 1)));
    };
    made.reference = [](std::span<const Values> in) -> Expected {
      return {transposed_values(in[0]), {}};
    };
    return std::vector{std::move(made)};
  };
  return entry;
}

}  // namespace

void add_movement_operations(std::vector<OperationEntry>& list) {
  OperationEntry rows = moving("copy2d", "rows out of a tensor of wider rows, and into one", 2);
  rows.needs_contiguous = true;
  rows.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    const RowsOfTensor shape = rows_of(dims);
    std::vector<OperationCase> cases;
    cases.push_back(rows_out_of(dtype, shape, maker));
    cases.push_back(rows_into(dtype, shape, maker));
    return cases;
  };
  list.push_back(std::move(rows));

  OperationEntry strided = moving("copy_strided", "the same elements in another layout", 2);
  strided.is_elementwise = true;
  strided.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    OperationCase made;
    made.inputs.push_back(maker.canonical_numbers(dtype, dims));
    made.result_dtype = dtype;
    made.result_dims.assign(dims.begin(), dims.end());
    made.run = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::copy_into(backend, out, in[0]);
    };
    made.reference = [](std::span<const Values> in) -> Expected { return {in[0], {}}; };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(strided));

  list.push_back(transposing());

  OperationEntry concat = moving("concat", "tensors one after the other along an axis", 4);
  concat.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    std::vector<OperationCase> cases;
    if (dims.empty()) return cases;
    const std::size_t last = dims.size() - 1;
    cases.push_back(concat_case(dtype, dims, maker, last, Dims{dims[last], dims[last]}));
    cases.push_back(concat_case(dtype, dims, maker, 0, Dims{dims[0] / 2, 0, dims[0] + 1}));
    return cases;
  };
  list.push_back(std::move(concat));
}

}  // namespace hiptool::measure
