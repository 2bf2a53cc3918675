// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "base/contains.hpp"
#include "hiptool/ops_rows.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/reduce.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

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
  std::string variant;
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

/// The first whole number of which the type does not hold the next one; 0: sums are exact or have
/// as many digits as the type.
long double first_gap(DType dtype) {
  switch (dtype) {
    case DType::f16: return 2048;
    case DType::bf16: return 256;
    case DType::f8e4m3: return 16;
    default: return 0;
  }
}

/// Whole numbers whose sums are small and exact in f32, and wrong in an accumulator of their own
/// type, which loses ones after the first number of each run. Near its end is the opposite of that
/// number. A run is all elements of a sum, or a row where all axes are reduced.
InputData cancelling_numbers(DType dtype, std::span<const std::uint64_t> dims,
                             const ReducedAxes& reduced, InputMaker& maker) {
  constexpr std::uint64_t shortest_row = 64;
  constexpr std::uint64_t shortest_run = 5;
  InputData data = maker.numbers(dtype, dims);
  if (data.bytes.empty()) return data;
  const std::uint64_t count = data.bytes.size() / element_size_bytes(dtype);
  const bool is_first_axis = reduced.keeps_dims;
  const bool is_row = reduced.axes.size() < dims.size() || dims.back() >= shortest_row;
  const std::uint64_t step = is_first_axis ? count / dims[0] : 1;
  const std::uint64_t length = is_first_axis ? dims[0] : is_row ? dims.back() : count;
  const std::uint64_t half = length / 2;
  Values values{data.dims, {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t place = i / step % length;
    const std::uint64_t group = is_first_axis ? i % step : i / length;
    const std::uint64_t last = length - 1 - (length < 32 ? 0 : group % 3 * 5);  // in another lane
    if (length < shortest_run || place == half) {
      values.at.push_back(-static_cast<long double>(maker.next() % 17));  // from -16 to 0
    } else if (place == 0 || place == last) {
      values.at.push_back(place == 0 ? first_gap(dtype) : -first_gap(dtype));
    } else {
      values.at.push_back(place < half ? 1 : place + 1 == last ? 6 : -1);  // about 0 in all
    }
  }
  data.bytes = reference::bytes_of(dtype, values);
  return data;
}

/// Without inputs.
OperationCase reduce_case(ops::Reduce operation, DType dtype, std::span<const std::uint64_t> dims,
                          const ReducedAxes& reduced) {
  OperationCase made;
  made.variant = reduced.variant;
  made.result_dtype = is_index(operation) ? DType::u32 : dtype;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool is_kept = !base::contains(reduced.axes, axis);
    if (is_kept || reduced.keeps_dims) made.result_dims.push_back(is_kept ? dims[axis] : 1);
  }
  made.run = [operation, reduced](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
    ops::reduce_into(backend, out, operation, in[0], reduced.axes);
  };
  made.reference = [operation, dtype, reduced](std::span<const Values> in) -> Expected {
    return reference::reduce(operation, dtype, in[0], reduced.axes, reduced.keeps_dims);
  };
  return made;
}

std::vector<OperationCase> reduce_cases(ops::Reduce operation, DType dtype,
                                        std::span<const std::uint64_t> dims, InputMaker& maker) {
  const bool is_sum = operation == ops::Reduce::sum;
  const InputData data = is_sum ? maker.moderate_numbers(dtype, dims) : maker.numbers(dtype, dims);
  std::vector<OperationCase> cases;
  for (const ReducedAxes& reduced : reduced_axes(dims.size(), is_sum)) {
    std::uint64_t reduced_elements = 1;
    for (const std::size_t axis : reduced.axes) reduced_elements *= dims[axis];
    if (!is_sum && reduced_elements == 0) continue;  // an error
    OperationCase made = reduce_case(operation, dtype, dims, reduced);
    if (is_sum && first_gap(dtype) > 0 && reduced_elements > 1) {
      OperationCase cancelling = made;
      cancelling.variant += (made.variant.empty() ? "cancelling" : ", cancelling");
      cancelling.inputs.push_back(cancelling_numbers(dtype, dims, reduced, maker));
      cases.push_back(std::move(cancelling));
    }
    made.inputs.push_back(data);
    if (is_sum && made.variant == "last axis") put_special_numbers(made.inputs[0]);
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
