// SPDX-License-Identifier: MIT
#include "hiptool/matmul.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/matmul.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

/// The last two axes exchanged.
Tensor turned(const Tensor& tensor) {
  const std::size_t rank = tensor.layout().rank();
  return tensor.with_layout(tensor.layout().transpose(rank - 2, rank - 1));
}
Values turned(const Values& values) {
  Values result = values;
  const std::size_t rank = values.dims.size();
  std::swap(result.dims[rank - 2], result.dims[rank - 1]);
  const std::size_t rows = result.dims[rank - 2];
  const std::size_t columns = result.dims[rank - 1];
  for (std::size_t i = 0; i < values.at.size(); ++i) {
    const std::size_t matrix = i / (rows * columns) * (rows * columns);
    result.at[i] = values.at[matrix + i % columns * rows + i / columns % rows];
  }
  return result;
}
Dims turned_if(bool is_turned, Dims dims) {
  if (is_turned) std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
  return dims;
}

/// Three sizes m, n and k of a product; in front of them there may be batches. Of two dimensions
/// the second is k, and n is one less than m; of one there are m = n = 1.
Dims product_sizes(std::span<const std::uint64_t> dims) {
  if (dims.empty()) return {1, 1, 1};
  if (dims.size() == 1) return {1, 1, dims[0]};
  if (dims.size() == 2) return {dims[0], dims[0] < 2 ? 1 : dims[0] - 1, dims[1]};
  Dims sizes(dims.begin(), dims.end());
  while (sizes.size() > Layout::max_rank + 1) {
    sizes[1] *= sizes[0];
    sizes.erase(sizes.begin());
  }
  return sizes;
}

std::vector<OperationCase> matmul_cases(bool is_exact, DType dtype,
                                        std::span<const std::uint64_t> dims, InputMaker& maker) {
  const Dims sizes = product_sizes(dims);
  const std::size_t rank = sizes.size() - 1;
  const std::uint64_t m = sizes[rank - 2];
  const std::uint64_t n = sizes[rank - 1];
  const std::uint64_t k = sizes[rank];
  const Dims batch(sizes.begin(), sizes.end() - 3);
  const auto with_batch = [&](std::uint64_t rows, std::uint64_t columns) {
    Dims all = batch;
    all.push_back(rows);
    all.push_back(columns);
    return all;
  };
  std::vector<OperationCase> cases;
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    const bool turns_a = layout[0] == 't';
    const bool turns_b = layout[1] == 't';
    OperationCase made;
    made.flops = 2;
    made.by_matrix_units = !is_exact;
    made.variant = layout;
    made.inputs = {maker.moderate_numbers(dtype, turned_if(turns_a, with_batch(m, k))),
                   maker.moderate_numbers(dtype, turned_if(turns_b, with_batch(k, n)))};
    made.result_dtype = dtype;
    made.result_dims = with_batch(m, n);
    for (const std::uint64_t size : sizes) made.flops *= static_cast<double>(size);
    made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::MatmulOptions options;
      options.exact = is_exact;
      ops::matmul_into(backend, out, turns_a ? turned(in[0]) : in[0],
                       turns_b ? turned(in[1]) : in[1], options);
    };
    made.reference = [=](std::span<const Values> in) -> Expected {
      return reference::matmul(dtype, turns_a ? turned(in[0]) : in[0],
                               turns_b ? turned(in[1]) : in[1]);
    };
    cases.push_back(std::move(made));
  }
  return cases;
}

void add_matmul(std::vector<OperationEntry>& list, const char* name, const char* description,
                bool is_exact) {
  OperationEntry entry{
      name, "matrix", description, {DType::f16, DType::bf16, DType::f32, DType::f64}, 3};
  entry.is_elementwise = false;
  entry.is_exact = false;
  entry.cases = [is_exact](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    return matmul_cases(is_exact, dtype, dims, maker);
  };
  entry.rank = 3;
  entry.dims_of_size = [](std::uint64_t size_bytes, DType dtype) -> Dims {
    constexpr std::uint64_t most_side = 128;  // the reference takes its time
    std::uint64_t side = 1;
    while (side < most_side && 4 * side * side * element_size_bytes(dtype) <= size_bytes) side *= 2;
    return {side, side, side};
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_matmul_operations(std::vector<OperationEntry>& list) {
  add_matmul(list, "matmul", "product of matrices, on matrix units if present", false);
  add_matmul(list, "matmul_exact", "product of matrices, same bits on every platform", true);
}

}  // namespace hiptool::measure
