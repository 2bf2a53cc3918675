// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "hiptool/ops_rows.hpp"
#include "measure/ops/operation.hpp"
#include "ops/reference/reduce.hpp"

namespace hiptool::measure {
namespace {

using ops::reference::Expected;
using ops::reference::Values;

const char* describe(ops::Reduce operation) {
  switch (operation) {
    case ops::Reduce::sum: return "sum over axes; integers wrap";
    case ops::Reduce::min: return "the smallest over axes; NaN stays";
    case ops::Reduce::max: return "the largest over axes; NaN stays";
    case ops::Reduce::argmin: return "index of the smallest over axes, as u32";
    case ops::Reduce::argmax: break;
  }
  return "index of the largest over axes, as u32";
}

bool is_index(ops::Reduce operation) {
  return operation == ops::Reduce::argmin || operation == ops::Reduce::argmax;
}

struct ReducedAxes {
  const char* variant;
  std::vector<std::size_t> axes;
  bool keeps_dims;
};

/// What is timed comes first.
std::vector<ReducedAxes> reduced_axes(std::size_t rank, bool is_sum) {
  std::vector<std::size_t> all(rank);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (rank < 2) return {{"", all, false}};
  std::vector<ReducedAxes> reduced{
      {"last axis", {rank - 1}, false}, {"first axis", {0}, true}, {"all axes", all, false}};
  if (is_sum) std::rotate(reduced.begin(), reduced.end() - 1, reduced.end());
  return reduced;
}

/// The first row gets a NaN and the second an infinity, where others are left to show numbers.
void put_special_numbers(InputData& data) {
  const std::uint64_t width = data.dims.empty() ? 0 : data.dims.back();
  const std::uint64_t count =
      std::accumulate(data.dims.begin(), data.dims.end(), std::uint64_t{1}, std::multiplies<>());
  if (!is_floating_point(data.dtype) || width == 0 || count / width < 3) return;
  put_number(data, width / 2, std::numeric_limits<long double>::quiet_NaN());
  put_number(data, 2 * width - 1, std::numeric_limits<long double>::infinity());
}

std::vector<OperationCase> reduce_cases(ops::Reduce operation, DType dtype,
                                        std::span<const std::uint64_t> dims, InputMaker& maker) {
  const bool is_sum = operation == ops::Reduce::sum;
  const InputData data = is_sum ? maker.moderate_numbers(dtype, dims) : maker.numbers(dtype, dims);
  std::vector<OperationCase> cases;
  for (const ReducedAxes& reduced : reduced_axes(dims.size(), is_sum)) {
    OperationCase made;
    made.variant = reduced.variant;
    made.inputs.push_back(data);
    if (is_sum && cases.size() == 1) put_special_numbers(made.inputs[0]);
    made.result_dtype = is_index(operation) ? DType::u32 : dtype;
    std::uint64_t reduced_elements = 1;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      bool is_kept = true;
      for (const std::size_t one : reduced.axes) is_kept &= one != axis;
      if (!is_kept) reduced_elements *= dims[axis];
      if (is_kept || reduced.keeps_dims) made.result_dims.push_back(is_kept ? dims[axis] : 1);
    }
    if (!is_sum && reduced_elements == 0) continue;  // an error
    made.run = [operation, reduced](const Backend& backend, std::span<const Tensor> in,
                                    const Tensor& out) {
      ops::reduce_into(backend, operation, in[0], reduced.axes, out);
    };
    made.reference = [operation, dtype, reduced](std::span<const Values> in) -> Expected {
      return ops::reference::reduce(operation, dtype, in[0], reduced.axes, reduced.keeps_dims);
    };
    cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace

void add_reduce_operations(std::vector<OperationEntry>& list) {
  for (const ops::Reduce operation : {ops::Reduce::sum, ops::Reduce::min, ops::Reduce::max,
                                      ops::Reduce::argmin, ops::Reduce::argmax}) {
    OperationEntry entry{
        std::string(ops::to_string(operation)), "reduce", describe(operation), {}, 1};
    entry.dtypes.assign(dtypes.begin(), dtypes.end());
    entry.is_elementwise = false;
    entry.is_exact = operation != ops::Reduce::sum;
    if (operation == ops::Reduce::sum) {
      entry.repeats = Repeats::summed;
      entry.usual_dtypes = {DType::u32, DType::f32, DType::f64};
      entry.flops = 1;
    }
    entry.cases = [operation](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
      return reduce_cases(operation, dtype, dims, maker);
    };
    list.push_back(std::move(entry));
  }
}

}  // namespace hiptool::measure
