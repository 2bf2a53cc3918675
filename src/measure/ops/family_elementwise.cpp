// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "hiptool/ops.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/unary.hpp"

namespace hiptool::measure {
namespace {

using reference::Values;

OperationEntry elementwise_entry(const char* name, const char* description, std::uint64_t arrays) {
  OperationEntry entry{name, "elementwise", description, {}, arrays};
  entry.dtypes.assign(dtypes.begin(), dtypes.end());
  return entry;
}

/// Zeros, ones and numbers of which only the highest bit is set.
InputData make_condition(DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
  InputData data = maker.indices(dtype, dims, 3);
  const std::size_t size = element_size_bytes(dtype);
  for (std::size_t i = 0; i < data.bytes.size(); i += size) {
    if (data.bytes[i] != std::byte{2}) continue;
    data.bytes[i] = std::byte{0};
    data.bytes[i + size - 1] = std::byte{0x80};
  }
  return data;
}

void add_where(std::vector<OperationEntry>& list) {
  OperationEntry entry =
      elementwise_entry("where", "x where the condition is not 0, else y; bits stay", 4);
  entry.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    const InputData on_true = maker.canonical_numbers(dtype, dims);
    const InputData on_false = maker.canonical_numbers(dtype, dims);
    std::vector<OperationCase> cases;
    for (const DType condition : {DType::u8, DType::u32, DType::i64}) {
      OperationCase made;
      made.variant = "condition " + std::string(to_string(condition));
      made.inputs = {make_condition(condition, dims, maker), on_true, on_false};
      made.result_dtype = dtype;
      made.result_dims.assign(dims.begin(), dims.end());
      made.in_place = 1;
      made.run = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
        ops::where_cond_into(backend, out, in[0], in[1], in[2]);
      };
      made.reference = [](std::span<const Values> in) {
        return reference::where_cond(in[0], in[1], in[2]);
      };
      cases.push_back(std::move(made));
    }
    return cases;
  };
  list.push_back(std::move(entry));
}

/// The types that a case of that type and shape converts to, the one that is timed first. Long flat
/// shapes try all of them, others three: the loop over elements does not depend on the types.
std::vector<DType> cast_targets(DType from, std::span<const std::uint64_t> dims) {
  std::vector<DType> targets{from == DType::f32 ? DType::f16 : DType::f32};
  const bool is_long = dims.size() == 1 && dims[0] > 1000;
  const auto at = static_cast<std::size_t>(std::ranges::find(dtypes, from) - dtypes.begin());
  for (std::size_t k = 0; k < dtypes.size(); ++k) {
    const DType to = dtypes[(at + k) % dtypes.size()];
    const bool is_wanted = is_long || targets.size() < 3;
    if (is_wanted && to != targets.front()) targets.push_back(to);
  }
  return targets;
}

void add_cast(std::vector<OperationEntry>& list) {
  OperationEntry entry = elementwise_entry("cast", "x in another type", 5);  // u8 to f32
  entry.cases = [](DType from, std::span<const std::uint64_t> dims, InputMaker& maker) {
    const OperationCase common = elementwise_case(1, from, dims, maker, from);
    std::vector<OperationCase> cases;
    for (const DType to : cast_targets(from, dims)) {
      OperationCase made = common;
      made.variant = "to " + std::string(to_string(to));
      made.result_dtype = to;
      if (to == from) {
        // Bits stay, which values of the reference do not know of a NaN.
        make_canonical(made.inputs[0]);
      } else {
        made.in_place.reset();
      }
      made.run = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
        ops::cast_into(backend, out, in[0]);
      };
      made.reference = [from, to](std::span<const Values> in) {
        return reference::cast(from, to, in[0]);
      };
      cases.push_back(std::move(made));
    }
    return cases;
  };
  list.push_back(std::move(entry));
}

void add_fill(std::vector<OperationEntry>& list) {
  OperationEntry entry = elementwise_entry("fill", "every element becomes one number", 1);
  entry.is_elementwise = false;  // no input gives the reference the number of elements
  entry.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker&) {
    std::vector<OperationCase> cases;
    const auto add = [&](const char* variant, ops::Scalar value) {
      OperationCase made;
      made.variant = variant;
      made.result_dtype = dtype;
      made.result_dims.assign(dims.begin(), dims.end());
      made.run = [value](const Backend& backend, std::span<const Tensor>, Tensor& out) {
        ops::fill_into(backend, out, value);
      };
      made.reference = [value, dtype, shape = made.result_dims](std::span<const Values>) {
        const Values like{shape, std::vector<long double>(Layout(shape).element_count())};
        return reference::fill(dtype, like, value);
      };
      cases.push_back(std::move(made));
    };
    add("with -3", -3);  // wraps in unsigned types
    add("with 2.7", 2.7);
    add("with NaN", std::numeric_limits<double>::quiet_NaN());
    return cases;
  };
  list.push_back(std::move(entry));
}

void add_row_bias(std::vector<OperationEntry>& list) {
  OperationEntry entry = elementwise_entry("row_bias", "x[r,c] + bias[c]", 2);
  entry.is_elementwise = false;
  entry.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    if (dims.size() != 2) return std::vector<OperationCase>{};
    OperationCase made = elementwise_case(1, dtype, dims, maker, dtype);
    made.inputs.push_back(maker.numbers(dtype, dims.subspan(1)));
    made.run = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::row_bias_into(backend, out, in[0], in[1]);
    };
    made.reference = [dtype](std::span<const Values> in) {
      return reference::row_bias(dtype, in[0], in[1]);
    };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_elementwise_operations(std::vector<OperationEntry>& list) {
  add_row_bias(list);
  add_where(list);
  add_cast(list);
  add_fill(list);
}

}  // namespace hiptool::measure
