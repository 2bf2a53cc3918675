// SPDX-License-Identifier: MIT
#include <limits>
#include <string>

#include "hiptool/ops_rows.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/rows.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

constexpr long double not_a_number = std::numeric_limits<long double>::quiet_NaN();
constexpr long double infinite = std::numeric_limits<long double>::infinity();
constexpr double swept_norm_epsilon = 1e-5;

std::uint64_t count_rows(const InputData& data) {
  std::uint64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < data.dims.size(); ++axis) rows *= data.dims[axis];
  return data.dims.back() == 0 ? 0 : rows;
}

/// A call whose result has type and shape of its first input.
OperationCase like_first_input(std::string variant, std::vector<InputData> inputs) {
  OperationCase made;
  made.variant = std::move(variant);
  made.result_dtype = inputs[0].dtype;
  made.result_dims = inputs[0].dims;
  made.inputs = std::move(inputs);
  made.in_place = 0;
  return made;
}

/// Of five rows and more the first three have a NaN, an infinity and nothing but -infinity.
void put_softmax_specials(InputData& data) {
  const std::uint64_t width = data.dims.back();
  if (count_rows(data) < 5) return;
  put_number(data, width / 2, not_a_number);
  put_number(data, 2 * width - 1, infinite);
  for (std::uint64_t i = 2 * width; i < 3 * width; ++i) put_number(data, i, -infinite);
}

std::vector<OperationCase> softmax_cases(bool is_log, DType dtype,
                                         std::span<const std::uint64_t> dims, InputMaker& maker) {
  std::vector<OperationCase> cases;
  if (dims.empty()) return cases;
  const InputData data = maker.moderate_numbers(dtype, dims);
  const auto add = [&](const char* variant, std::size_t axis) {
    OperationCase made = like_first_input(variant, {data});
    if (cases.empty()) put_softmax_specials(made.inputs[0]);
    made.run = [is_log, axis](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      (is_log ? ops::log_softmax_into : ops::softmax_into)(backend, out, in[0], axis);
    };
    made.reference = [is_log, axis, dtype](std::span<const Values> in) -> Expected {
      return reference::softmax(dtype, in[0], axis, is_log);
    };
    cases.push_back(std::move(made));
  };
  add(dims.size() > 1 ? "last axis" : "", dims.size() - 1);
  if (dims.size() > 1) add("first axis", 0);
  return cases;
}

std::vector<OperationCase> norm_cases(bool is_centred, DType dtype,
                                      std::span<const std::uint64_t> dims, InputMaker& maker) {
  std::vector<OperationCase> cases;
  if (dims.empty()) return cases;
  const Dims row{dims.back()};
  std::vector<InputData> inputs{maker.moderate_numbers(dtype, dims),
                                maker.moderate_numbers(dtype, row)};
  if (count_rows(inputs[0]) > 2) put_number(inputs[0], dims.back() / 2, not_a_number);
  const auto add = [&](const char* variant, bool has_bias) {
    OperationCase made = like_first_input(variant, inputs);
    if (has_bias) made.inputs.push_back(maker.moderate_numbers(dtype, row));
    made.run = [is_centred, has_bias](const Backend& backend, std::span<const Tensor> in,
                                      Tensor& out) {
      if (is_centred && has_bias) {
        ops::layernorm_into(backend, out, in[0], in[1], in[2], swept_norm_epsilon);
      } else if (is_centred) {
        ops::layernorm_into(backend, out, in[0], in[1], swept_norm_epsilon);
      } else {
        ops::rmsnorm_into(backend, out, in[0], in[1], swept_norm_epsilon);
      }
    };
    made.reference = [is_centred, has_bias, dtype](std::span<const Values> in) -> Expected {
      return reference::normalise(dtype, in[0], in[1], has_bias ? &in[2] : nullptr, is_centred,
                                  swept_norm_epsilon);
    };
    cases.push_back(std::move(made));
  };
  if (is_centred) add("with bias", true);
  add(is_centred ? "without bias" : "", false);
  return cases;
}

/// Shapes of one and two dimensions are rows of one head.
std::vector<OperationCase> rope_cases(DType dtype, std::span<const std::uint64_t> dims,
                                      InputMaker& maker) {
  std::vector<OperationCase> cases;
  if (dims.empty() || dims.back() < 2) return cases;
  Dims full(dims.begin(), dims.end());
  while (full.size() < 3) full.insert(full.end() - 1, 1);
  if (dims.size() == 2) full = {dims[0], 1, dims[1]};
  InputData x = maker.moderate_numbers(dtype, full);
  if (count_rows(x) > 2) put_number(x, full.back() / 2, not_a_number);
  const auto add = [&](const char* variant, RopePairs pairs, std::uint64_t pair_count) {
    const Dims table{full[full.size() - 3], pair_count};
    OperationCase made = like_first_input(variant, {x, maker.moderate_numbers(DType::f32, table),
                                                    maker.moderate_numbers(DType::f32, table)});
    made.run = [pairs](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::rope_into(backend, out, in[0], in[1], in[2], pairs);
    };
    made.reference = [pairs, dtype](std::span<const Values> in) -> Expected {
      return reference::rope(dtype, in[0], in[1], in[2], pairs);
    };
    cases.push_back(std::move(made));
  };
  const std::uint64_t width = full.back();
  add("neighbours", RopePairs::neighbours, width / 2);
  add("halves", RopePairs::halves, width / 2);
  if (width < 4) return cases;
  add("neighbours of a part", RopePairs::neighbours, width / 4);
  add("halves of a part", RopePairs::halves, width / 4);
  return cases;
}

using RowCases = std::function<std::vector<OperationCase>(
    DType, std::span<const std::uint64_t> dims, InputMaker&)>;

/// `flops` are 0 of an operation that `all` leaves out.
void add_rows(std::vector<OperationEntry>& list, const char* name, const char* description,
              std::uint64_t arrays, double flops, RowCases cases) {
  OperationEntry entry{
      name, "rows", description, {DType::f16, DType::bf16, DType::f32, DType::f64}, arrays};
  entry.is_elementwise = false;
  entry.is_exact = false;
  entry.flops = flops;
  if (flops > 0) entry.usual_dtypes = {DType::f32};
  entry.cases = std::move(cases);
  list.push_back(std::move(entry));
}

}  // namespace

void add_rows_operations(std::vector<OperationEntry>& list) {
  const auto given = [](auto function, bool choice) -> RowCases {
    return [=](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
      return function(choice, dtype, dims, maker);
    };
  };
  add_rows(list, "softmax", "softmax along an axis", 2, 5, given(softmax_cases, false));
  add_rows(list, "log_softmax", "logarithm of softmax along an axis", 2, 0,
           given(softmax_cases, true));
  add_rows(list, "layernorm", "layer norm of rows", 2, 8, given(norm_cases, true));
  add_rows(list, "rmsnorm", "norm of rows by their mean square", 2, 4, given(norm_cases, false));
  add_rows(list, "rope", "rotary position embedding of rows by tables", 3, 3, rope_cases);
}

}  // namespace hiptool::measure
